import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createLogParser, createOverlap } from './logEvents.ts'

const parse = (...pieces: string[]) => {
  const parser = createLogParser()
  return pieces.flatMap((piece) => parser(piece))
}
const line = (text: string) => ({ kind: 'line', text })

test('returns each line and the reason of the end', () => {
  expect(parse('data: one\n\ndata: two\n\nevent: end\ndata: {"reason":"Duration"}\n\n')).toEqual([
    line('one'),
    line('two'),
    { kind: 'end', reason: 'Duration' },
  ])
})

test('keeps empty lines, spaces and text that looks like a field', () => {
  expect(parse('data: \n\ndata:   a: b \n\ndata: event: end\n\n')).toEqual([
    line(''),
    line('  a: b '),
    line('event: end'),
  ])
})

test('leaves out comments and events of unknown types', () => {
  expect(parse(': keep-alive\n\nevent: other\ndata: x\n\ndata: a\n\n')).toEqual([line('a')])
})

test('reads an end without a readable reason as an end', () => {
  for (const data of ['{', 'null', '{"reason":7}', '[]']) {
    expect(parse(`event: end\ndata: ${data}\n\n`)).toEqual([{ kind: 'end', reason: '' }])
  }
})

test('returns the same events however the text is cut', () => {
  const text = 'data: grün 🙂\n\n: keep-alive\n\ndata: b\n\nevent: end\ndata: {"reason":"End"}\n\n'
  fc.assert(
    fc.property(fc.array(fc.nat(text.length), { maxLength: 8 }), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), text.length]
      const pieces = places.slice(1).map((end, index) => text.slice(places[index], end))
      expect(parse(...pieces)).toEqual(parse(text))
    }),
  )
})

test('refuses a line without an end', () => {
  expect(() => parse('x'.repeat(300_000))).toThrow('without an end')
})

const after = (known: readonly string[], lines: readonly string[]) => {
  const overlap = createOverlap(known)
  return [...lines.flatMap(overlap.add), ...overlap.end()]
}

test('shows the lines after an overlap once', () => {
  expect(after(['a', 'b', 'c'], ['b', 'c', 'd', 'e', 'b'])).toEqual(['d', 'e', 'b'])
})

test('shows all lines of a log without an overlap', () => {
  expect(after(['a', 'b'], ['c', 'a', 'b'])).toEqual(['c', 'a', 'b'])
  expect(after([], ['a'])).toEqual(['a'])
})

test('shows lines that stop agreeing with the known ones', () => {
  expect(after(['a', 'b', 'c'], ['a', 'b', 'x'])).toEqual(['a', 'b', 'x'])
})

test('shows what was held back when the search ends', () => {
  const overlap = createOverlap(['a', 'b', 'c'])
  expect([overlap.add('a'), overlap.end(), overlap.add('b'), overlap.end()]).toEqual([[], ['a'], ['b'], []])
})

test('shows at once the lines of a log that writes the same line for ever', () => {
  const ticks = Array.from({ length: 2_000 }, () => 'tick')
  expect(after(ticks, ticks.slice(0, 900))).toHaveLength(899)
})

/** The lines that one read sends, and so that are known after it. */
type Read = { readonly from: number; readonly to: number }
const aLine = fc.constantFrom('tick', 'tock', '')
/** Each read starts at the last line that is known, or before. */
const readsOf = (steps: readonly (readonly [number, number])[], length: number): Read[] => {
  let before: Read = { from: 0, to: 0 }
  return steps.map(([back, on]) => {
    const from = Math.max(before.to - 1 - back, 0)
    before = { from, to: Math.min(length, Math.max(before.to, from + on)) }
    return before
  })
}

/** Reports whether all lines are in a list, in their order and each at a place of its own. */
const inOrder = (lines: readonly string[], list: readonly string[]): boolean => {
  let next = 0
  for (const line of list) if (line === lines[next]) next += 1
  return next === lines.length
}

test('loses no line of any log, however often it is cut and read again', () => {
  fc.assert(
    fc.property(
      fc.array(aLine, { minLength: 1, maxLength: 30 }),
      fc.array(fc.tuple(fc.nat(6), fc.nat(12)), { minLength: 1, maxLength: 6 }),
      (log, steps) => {
        let shown: string[] = []
        for (const { from, to } of readsOf(steps, log.length)) {
          shown = [...shown, ...after(shown, log.slice(from, to))]
          expect(inOrder(log.slice(0, to), shown)).toBe(true)
        }
      },
    ),
  )
})

test('shows a line twice only if it ends the known lines and comes again in the repeated part', () => {
  fc.assert(
    fc.property(fc.array(aLine, { minLength: 1 }), fc.nat(), fc.nat(), (log, first, second) => {
      const to = 1 + (first % log.length)
      const from = second % to
      const repeated = to - from
      const shorter = (count: number) => log.slice(to - count, to).every((line, index) => line === log[from + index])
      const shortest = Array.from({ length: repeated }, (_, index) => index + 1).find(shorter)
      expect(after(log.slice(0, to), log.slice(from))).toEqual(log.slice(from + (shortest ?? 0)))
    }),
  )
})

test('shows every line once if no line comes twice', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { minLength: 1 }), fc.nat(), fc.nat(), (lines, first, second) => {
      const [from, to] = [first % lines.length, second % lines.length].toSorted((a, b) => a - b) as [number, number]
      expect(after(lines.slice(0, to), lines.slice(from))).toEqual(lines.slice(to))
    }),
  )
})
