import { RE2JS } from 're2js'

/** The maximum size of a pattern that is compiled. Compiling one of this size takes some 20 ms. */
const maxSize = 5_000
/** The size of a range in a class that ignores case: each of its characters is folded, up to 125,000. */
const foldedRangeSize = 1_000

/** The parts of a pattern: literals, named characters, classes, repetitions and single characters. */
const tokens = /\\Q.*?(?:\\E|$)|\\[pPx]\{[^}]*\}|\\.|\[(?:\\.|\[:\w*:\]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu
const wideRange = /(?:\\x\S+?|[^ -~])-|-(?:\\x|[^ -~])/gu

/** Reports whether text is a regular expression in RE2 syntax, which matches in linear time, and of limited size. */
export const isLinearPattern = (text: string): boolean => {
  if (sizeOf(text) > maxSize) return false
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}

/** Returns about the number of instructions of a pattern: each character counts as often as the repetitions around it say. */
const sizeOf = (pattern: string): number => {
  const enclosing: number[] = []
  let [folded, size, last] = [0, 0, 0]
  const add = (part: number): void => {
    last = part
    size += part
  }
  for (const [token, min, max] of pattern.matchAll(tokens)) {
    if (min !== undefined) add(last * (Math.max(1, Number(min), Number(max ?? 0)) - 1))
    else if (token === '(') {
      enclosing.push(size)
      size = 2
    } else if (token === ')') {
      const group = size
      size = enclosing.pop() ?? 0
      add(group)
    } else add(token.startsWith('\\Q') ? token.length : 1)
    if (token.startsWith('[')) folded += (token.match(wideRange)?.length ?? 0) * foldedRangeSize
  }
  return enclosing.reduce((sum, each) => sum + each, size) + (/\(\?\w*i/.test(pattern) ? folded : 0)
}
