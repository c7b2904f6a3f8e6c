import { describe, expect, test } from 'vitest'
import type * as z from 'zod'
import { isTimed } from '#test/support/timing.ts'
import { endpoints } from './endpoints.ts'

type Found = { readonly where: string; readonly schema: z.core.$ZodType }

/** Returns all strings of a schema, including the keys of records. */
const stringsOf = (schema: z.core.$ZodType, where: string): Found[] => {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'string':
      return [{ where, schema }]
    case 'object':
      return Object.entries(def.shape).flatMap(([name, inner]) => stringsOf(inner, `${where}/${name}`))
    case 'array':
      return stringsOf(def.element, `${where}/*`)
    case 'record':
      return [...stringsOf(def.keyType, `${where}/(key)`), ...stringsOf(def.valueType, `${where}/*`)]
    case 'union':
      return def.options.flatMap((option, at) => stringsOf(option, `${where}(${at})`))
    case 'pipe':
      return stringsOf(def.in, where)
    case 'optional':
    case 'default':
    case 'prefault':
    case 'nullable':
    case 'nonoptional':
      return stringsOf(def.innerType, where)
    case 'boolean':
    case 'number':
    case 'null':
    case 'enum':
    case 'literal':
    case 'unknown':
      return []
    default:
      throw new Error(`${where} has a schema of type ${def.type}, which this test does not support.`)
  }
}

const strings = endpoints.flatMap(({ operationId, body, query, params }) => [
  ...(body ? stringsOf(body, `${operationId} body`) : []),
  ...(query ? stringsOf(query, `${operationId} query`) : []),
  ...(params ? stringsOf(params, `${operationId} path`) : []),
])

const shapes: Record<string, (length: number) => string> = {
  'one letter': (length) => 'a'.repeat(length),
  blanks: (length) => ' '.repeat(length),
  'a newline last': (length) => `${'a'.repeat(length - 1)}\n`,
  'blanks with a newline last': (length) => `a${' '.repeat(length - 2)}\n`,
  digits: (length) => '7'.repeat(length),
  'digits and a mark last': (length) => `${'7'.repeat(length - 1)}!`,
  'surrogate pairs': (length) => '🌍'.repeat(length / 2),
  'a URL': (length) => `https://a.example/${'%41'.repeat((length - 20) / 3)}\n`,
  colons: (length) => 'a:'.repeat(length / 2),
  quantifiers: (length) => '(a*)*'.repeat(length / 5),
}

/** Returns the shortest time of several runs, since other load only adds to it. */
const leastMs = (run: () => void): number => {
  let leastMs = Number.POSITIVE_INFINITY
  for (let at = 0; at < 5; at += 1) {
    const startedMs = performance.now()
    run()
    leastMs = Math.min(leastMs, performance.now() - startedMs)
  }
  return leastMs
}

/** Reports whether twice the length takes about twice the time; a quadratic check takes four times as long. */
const isLinear = (run: (text: string) => void, shape: (length: number) => string, length: number): boolean => {
  const [short, long] = [shape(length), shape(2 * length)]
  const [shortMs, longMs] = [leastMs(() => run(short)), leastMs(() => run(long))]
  // Shorter times are noise.
  return longMs < 1 || longMs < 3 * shortMs
}

describe('string limits of all requests', () => {
  test('covers every string and record key of the endpoints', () => {
    expect(strings.length).toBeGreaterThan(80)
    expect(strings.map(({ where }) => where)).toContain('createApiKey body/claims/(key)')
  })

  const parse = (schema: z.core.$ZodType) => (text: string) => (schema as z.ZodType).safeParse(text)
  test.each(Object.keys(shapes))('reject 1 MiB of %s', (name) => {
    const megabyte = (shapes[name] ?? String)(1024 * 1024)
    const accepted = strings.filter(({ schema }) => parse(schema)(megabyte).success)
    expect(accepted.map(({ where }) => where)).toEqual([])
  })

  const checksOf = ({ schema }: Found) => (schema as z.core.$ZodString)._zod.def.checks ?? []
  const patterns = new Map(
    strings.flatMap(checksOf).flatMap((check) => {
      const { pattern } = check._zod.def as { pattern?: RegExp }
      return pattern === undefined ? [] : [[String(pattern), pattern] as const]
    }),
  )
  if (isTimed) {
    test.each(Object.keys(shapes))('check %s in linear time', (name) => {
      const shape = shapes[name] ?? String
      const slow = strings.filter(({ schema }) => !isLinear(parse(schema), shape, 512 * 1024))
      expect(slow.map(({ where }) => where)).toEqual([])
    })
    test.each([...patterns])('match in linear time: %s', (_, pattern) => {
      const slow = Object.keys(shapes).filter(
        (name) => !isLinear((text) => pattern.test(text), shapes[name] ?? String, 16 * 1024),
      )
      expect(slow).toEqual([])
    })
  }
})
