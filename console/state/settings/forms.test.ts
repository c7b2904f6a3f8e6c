import { expect, test } from 'vitest'
import { type Kind, parseText, showText, writeBuild, writeQuery, writeValue } from './forms.ts'

const odd = ['', ' a', 'a ', '"', 'a"b', 'a=b', '{', 'two\nlines', '\r', '\u202egnp', 'é🎮', '__proto__', '\\']

test.each<[Kind, unknown]>([
  ['text', 'Main hall'],
  ['long', 'two\nlines'],
  ['choice', 'Open'],
  ['flag', true],
  ['flag', false],
  ['number', 0.5],
  ['number', undefined],
  ['pairs', {}],
  ['pairs', Object.fromEntries(odd.slice(1).map((each, index) => [each, odd.at(-index)]))],
  ['lines', []],
  ['lines', odd],
  ['build', undefined],
  ['build', { channelId: 'a:b', tag: '"' }],
  ['build', { content: { id: 'arena' } }],
  ['query', undefined],
  ['query', { protocol: 'Http' }],
  ['query', { protocol: 'A2S', port: 27_015, timeoutSeconds: 5 }],
  ['json', [{ name: 'game\u202e', containerPort: 7777 }]],
])('the text of a %s is read as the same value: %j', (kind, value) => {
  expect(parseText(kind, writeValue(kind, value))).toEqual({ value })
})

test('labels are written as key=value, and quoted only where they could not be read', () => {
  const text = writeValue('pairs', { team: 'events', 'a=b': ' x', empty: '' })
  expect(text).toBe('"a=b"=" x"\nempty=\nteam=events')
  expect(parseText('pairs', ' team = events \n\n b=c=d ')).toEqual({ value: { team: 'events', b: 'c=d' } })
})

test('invisible characters are visible in lines and in JSON', () => {
  for (const kind of ['pairs', 'json'] as const) expect(writeValue(kind, { a: '\u202e' })).toContain('\\u202e')
})

test.each<[Kind, string, string]>([
  ['number', '1e3', 'must be a number'],
  ['number', '-1', 'must be a number'],
  ['pairs', 'team', 'needs key=value in each line: team'],
  ['pairs', 'a=1\na=2', 'has the key a twice'],
  ['pairs', '"a', 'needs key=value in each line: "a'],
  ['lines', '"a', 'is not a text in quotes: "a'],
  ['json', '[', 'is not JSON'],
  ['build', writeBuild({ channelId: 'live', tag: '', contentId: '' }), 'needs a channel and a tag'],
  [
    'build',
    writeBuild({ channelId: 'live', tag: 'v7', contentId: 'arena' }),
    'needs either a channel and a tag, or a content',
  ],
  ['query', writeQuery({ protocol: 'A2S', port: 'game', timeoutSeconds: '' }), 'needs a whole number as its port'],
  ['query', writeQuery({ protocol: 'A2S', port: '1', timeoutSeconds: '0.5' }), 'needs a whole number as its timeout'],
])('a text that is no %s has a fault: %s', (kind, text, fault) => {
  expect(parseText(kind, text)).toEqual({ fault })
})

test('a build, a query and a flag are shown in words', () => {
  expect(showText('build', '')).toBe('None: the image that kubectl set, or the default one')
  expect(showText('build', writeValue('build', { channelId: 'live', tag: 'v7' }))).toBe('live:v7')
  expect(showText('build', writeValue('build', { content: { id: 'arena' } }))).toBe('Content arena')
  expect(showText('query', '')).toBe('None: GET /readyz at port 8080, if the server has probes')
  expect(showText('query', writeValue('query', { protocol: 'SQP' }))).toBe('SQP')
  expect(showText('query', writeValue('query', { protocol: 'A2S', port: 7, timeoutSeconds: 2 }))).toBe(
    'A2S at port 7, timeout 2 s',
  )
  expect([showText('flag', 'true'), showText('flag', 'false'), showText('text', 'a')]).toEqual(['Yes', 'No', 'a'])
})
