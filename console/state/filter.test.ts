import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { matches, parseFilter, removeTerm, termsOf, toggleOnly, toggleTerm } from './filter.ts'
import { aRow } from './testing/row.ts'

const selects = (text: string, row: Parameters<typeof aRow>[0] = {}): boolean => matches(parseFilter(text), aRow(row))
const faultsOf = (text: string): string[] => parseFilter(text).faults.map(({ message }) => message)

test.each([
  ['name', { name: 'Grand LOBBY' }],
  ['id', { id: 'world-lobby' }],
  ['label', { labels: { team: 'lobby' } }],
  ['map', { mapName: 'lobby' }],
  ['build', { build: 'lobby:1' }],
  ['reason', { reason: 'LobbyFull' }],
  ['message', { message: 'The lobby is full.' }],
  ['address', { address: 'wss://lobby.example' }],
])('finds free text in the %s, in any case', (_, row) => {
  expect(selects('lOBby', { name: 'x', ...row })).toBe(true)
  expect(selects('lOBby', { name: 'x' })).toBe(false)
})

test.each([
  ['phase:Error', { phase: 'Error' }],
  ['phase:err', { phase: 'Error' }],
  ['reason:CrashLoop', { reason: 'CrashLoop' }],
  ['label:team', { labels: { team: 'events' } }],
  ['label:team=', { labels: { team: 'events' } }],
  ['label:team=events', { labels: { team: 'events' } }],
  ['profile:capacity100', { profile: 'Capacity100' }],
  ['region:AsiaPacific', { region: 'AsiaPacific' }],
  ['group:staging', { group: 'staging' }],
  ['map:desert', { mapName: 'The Desert' }],
  ['build:beta', { build: 'beta:1' }],
  ['address:192.168', { address: '192.168.0.1:7000' }],
  ['project:project-2', { projectId: 'project-2' }],
  ['id:9', { id: 'world-9' }],
  ['name:"two words"', { name: 'Here are two words' }],
  ['reason:"two, three"', { reason: 'two, three' }],
  ['build:""', { build: '' }],
  ['players:12', { players: 12 }],
  ['players:>9', { players: 10 }],
  ['players:<1,>90', { players: 91 }],
  ['players:""', { players: undefined }],
  ['restarts:>0', { restarts: 1 }],
] as const)('selects by %s, and the others with the opposite', (text, row) => {
  expect([selects(text, row), selects(text)]).toEqual([true, false])
  expect([selects(`-${text}`, row), selects(`-${text}`)]).toEqual([false, true])
})

test('compares reasons, profiles and labels as a whole', () => {
  expect(selects('reason:EditRefused', { reason: 'EditRefusedAgain' })).toBe(false)
  expect(selects('profile:Capacity10', { profile: 'Capacity100' })).toBe(false)
  expect(selects('label:version=1', { labels: { version: '10' } })).toBe(false)
})

test('selects the worlds with all terms, and with one of the values of each', () => {
  const row = { phase: 'Starting', name: 'Lobby' } as const
  expect(selects('phase:Error,Starting lobby', row)).toBe(true)
  expect(selects('phase:Error,Starting arena', row)).toBe(false)
  expect(selects('lobby -arena', row)).toBe(true)
  expect(selects('-lobby', row)).toBe(false)
})

test('selects all worlds while a word is being typed', () => {
  for (const text of ['', '  ', '-', 'phase:', '-phase:', 'name:,', '"', '-"']) expect(selects(text), text).toBe(true)
})

test('names unknown keys and values, and searches a word with an unknown key as text', () => {
  expect(faultsOf('phsae:Error')).toEqual([expect.stringMatching(/^phsae is not a key.*phase, reason, label/)])
  expect(selects('phsae:Error', { name: 'the phsae:error' })).toBe(true)
  expect(faultsOf('phase:Error,Eror')).toEqual([expect.stringMatching(/Eror. Use Error, Starting/)])
  expect(faultsOf('region:Mars group:prod')).toEqual([expect.stringContaining('Mars')])
})

test('finds no fault in addresses, builds and quoted text', () => {
  expect(faultsOf('wss://host localhost:7777 stable:1.2 "now: go" phase:Err -phase:Active reason:Any')).toEqual([])
  expect(faultsOf('constructor:a')).toHaveLength(1)
})

test('has a term for each word', () => {
  expect(termsOf('-phase:Error,"a b"  "x y" z')).toEqual([
    { text: '-phase:Error,"a b"', key: 'phase', values: ['Error', 'a b'], isNegated: true },
    { text: '"x y"', key: '', values: ['x y'], isNegated: false },
    { text: 'z', key: '', values: ['z'], isNegated: false },
  ])
})

test.each([
  ['', 'phase:Error'],
  ['phase:Error', ''],
  ['phase:error', ''],
  ['lobby  "a b"', 'lobby "a b" phase:Error'],
  ['phase:Active lobby', 'phase:Active,Error lobby'],
  ['phase:Active,Error lobby', 'phase:Active lobby'],
  ['-phase:Error', 'phase:Error'],
  ['-phase:Active', '-phase:Active phase:Error'],
  ['phase:', 'phase: phase:Error'],
])('toggles phase:Error in the text %j', (before, after) => {
  expect(toggleTerm(before, 'phase', 'Error')).toBe(after)
})

test('adds each label as a term of its own', () => {
  expect(toggleTerm('label:a=1', 'label', 'b=2')).toBe('label:a=1 label:b=2')
  expect(toggleTerm('label:a=1 label:b=2', 'label', 'a=1')).toBe('label:b=2')
})

test('reads alternatives behind label:key= as values of the same key', () => {
  expect(termsOf('-label:team=events,ranked,"a b",mode=solo,duo')[0]?.values).toEqual([
    'team=events',
    'team=ranked',
    'team=a b',
    'mode=solo',
    'mode=duo',
  ])
  expect(termsOf('label:team,mode=solo,""')[0]?.values).toEqual(['team', 'mode=solo', ''])
  expect(toggleTerm('label:team=events,ranked', 'label', 'team=events')).toBe('label:team=ranked')
})

test.each([
  ['', 'reason:OutOfMemory'],
  ['label:a=1 phase:Error', 'reason:OutOfMemory'],
  ['reason:Other', 'reason:OutOfMemory'],
  ['reason:OutOfMemory lobby', 'reason:OutOfMemory'],
  ['-reason:OutOfMemory', 'reason:OutOfMemory'],
  ['reason:OutOfMemory', ''],
])('replaces %j by a reason, or clears it', (before, after) => {
  expect(toggleOnly(before, 'reason', 'OutOfMemory')).toBe(after)
})

test('removes a term', () => {
  expect(removeTerm('a -phase:Error b', 1)).toBe('a b')
})

const syntax = fc.constantFrom('"', '\\', ',', ':', '-', ' ', 'a', 'phase', 'x:', '=', '\n')
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 50 }),
  fc.array(syntax).map((parts) => parts.join('')),
)

test('selects a toggled value whatever it contains, and removes it again', () => {
  fc.assert(
    fc.property(anyText, (value) => {
      const text = toggleTerm('lobby', 'map', value)
      expect(termsOf(text).map(({ values }) => values)).toEqual([['lobby'], [value]])
      expect(toggleTerm(text, 'map', value)).toBe('lobby')
    }),
  )
})

test('parses any text, and each term alone as within the text', () => {
  fc.assert(
    fc.property(anyText, (text) => {
      matches(parseFilter(text), aRow())
      for (const term of termsOf(text)) expect(termsOf(term.text)).toEqual([term])
    }),
  )
})

test('ignores what exceeds 1,000 characters', () => {
  expect(termsOf('ab '.repeat(100_000))).toHaveLength(334)
})

test('says that the time of a start is none', () => {
  expect(parseFilter('started:yesterday').faults).toEqual([
    { text: 'started:yesterday', message: 'yesterday is not an instant. Use one such as 2026-11-28T14:00:00Z.' },
  ])
  expect(matches(parseFilter('started:yesterday'), aRow())).toBe(false)
  expect(matches(parseFilter('started:1970-01-01T00:00:00Z'), aRow({ startedAtMs: 0 }))).toBe(false)
})

test('compares counts as numbers, says that another value is none, and selects all worlds behind a sign alone', () => {
  expect(selects('players:<10', { players: 9 })).toBe(true)
  expect(selects('players:<10', { players: 10 })).toBe(false)
  expect(selects('players:<10', { players: undefined })).toBe(false)
  expect(selects('restarts:>')).toBe(true)
  expect(faultsOf('restarts:> players:"",<5')).toEqual([])
  expect(faultsOf('players:many,>1.5')).toEqual(['many, >1.5 is not a number. Use one such as 3, >0 or <10.'])
  expect(faultsOf('restarts:few')).toHaveLength(1)
  expect(selects('players:many')).toBe(false)
})
