import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { botDeploymentSpecSchema } from './botDeployment.ts'
import { readLeniently } from './lenient.ts'
import { readWorldSpec, worldSpecSchema } from './world.ts'

const longKey = 'k'.repeat(257)

test('a quantity of 0, which Kubernetes treats as no limit, is unset', () => {
  const bots = { worldName: 'lobby', count: 1, cpu: '0.000', memory: '0Gi' }
  const { value, unreadable } = readLeniently(botDeploymentSpecSchema, bots, { worldName: 'unknown', count: 0 })
  expect(value).toMatchObject({ cpu: '100m', memory: '128Mi' })
  expect(unreadable.map(({ path }) => path)).toEqual([['cpu'], ['memory']])
})

test('unsets a key that is too long and keeps the rest', () => {
  const { value, unreadable } = readWorldSpec({ state: 'Running', metadata: { labels: { [longKey]: 'x', ok: 'y' } } })
  expect(value).toMatchObject({ state: 'Running', metadata: { labels: { ok: 'y' }, annotations: {} } })
  expect(unreadable).toMatchObject([{ path: ['metadata', 'labels', longKey] }])
})

test.each(['__proto__', 'constructor', 'a\0'])(
  'unsets the key %j, which the row cannot have, and keeps the rest',
  (key) => {
    const labels = JSON.parse(`{${JSON.stringify(key)}:"x","ok":"y"}`)
    const { value, unreadable } = readWorldSpec({ metadata: { labels } })
    expect(Object.entries(value.metadata.labels)).toEqual([['ok', 'y']])
    expect(unreadable).toMatchObject([{ path: ['metadata', 'labels', key] }])
  },
)

test('unsets a text that Postgres cannot store', () => {
  const { value, unreadable } = readWorldSpec({
    description: 'a\0b',
    runtime: { args: ['\0', 'ok', '\0'], mapName: 'hall' },
  })
  expect(value).toMatchObject({ description: '', runtime: { args: [], mapName: 'hall' } })
  expect(unreadable.map(({ path }) => path.join('.'))).toEqual(['description', 'runtime.args'])
})

test('unsets a whole list or map for one bad part of it', () => {
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, at) => [`k${at}`, '']))
  const { value, unreadable } = readWorldSpec({
    runtime: { args: ['a', 7], mapName: 'hall' },
    metadata: { labels: many },
  })
  expect(value).toMatchObject({ runtime: { args: [], mapName: 'hall' }, metadata: { labels: {} } })
  expect(unreadable.map(({ path }) => path.join('.'))).toEqual(['runtime.args', 'metadata.labels'])
})

test('unsets a whole grant for one bad part of it, and keeps the rest', () => {
  const granted = { uid: 'a', compute: { group: 'unknown' } }
  const { value, unreadable } = readWorldSpec({ state: 'Running', granted })
  expect(value.state).toBe('Running')
  expect(value).not.toHaveProperty('granted')
  expect([...new Set(unreadable.map(({ path }) => path.join('.')))]).toEqual(['granted'])
})

test('takes required fields from the fallback', () => {
  const { value } = readLeniently(botDeploymentSpecSchema, { count: -1, cpu: '1' }, { worldName: 'lobby', count: 0 })
  expect(value).toMatchObject({ worldName: 'lobby', count: 0, cpu: '1' })
})

test('reads any JSON as a valid spec', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (source) => {
      worldSpecSchema.parse(readWorldSpec(source).value)
    }),
  )
  const shapes = fc.record(
    Object.fromEntries(
      ['state', 'scaling', 'compute', 'runtime', 'metadata', 'revision', 'runId'].map((name) => [name, fc.jsonValue()]),
    ),
  )
  fc.assert(
    fc.property(shapes, (source) => {
      worldSpecSchema.parse(readWorldSpec(source).value)
    }),
  )
})

test.each(['0000-01-01T00:00:00Z', '0049-12-31T00:00:00Z', '9999-12-31T23:59:59-14:00'])(
  'the instant %s, which the database cannot hold, is unset',
  (startedAt) => {
    const { value, unreadable } = readWorldSpec({ state: 'Running', startedAt })
    expect(value.startedAt).toBeUndefined()
    expect(unreadable).toEqual([{ path: ['startedAt'], why: 'must be in the years 1970 to 9999 in UTC' }])
  },
)
