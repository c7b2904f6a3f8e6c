import { expect, test } from 'vitest'
import { changesOf, createSplitter, createStatementReader, createTransactionTracker } from './messages.ts'

/** A message of a client as it is sent. */
const aMessage = (type: string, ...strings: string[]): Buffer => {
  const body = Buffer.from(strings.map((each) => `${each}\0`).join(''))
  const bytes = Buffer.alloc(5 + body.length)
  bytes.write(type)
  bytes.writeInt32BE(4 + body.length, 1)
  body.copy(bytes, 5)
  return bytes
}
const startup = Buffer.from([0, 0, 0, 8, 0, 3, 0, 0])

test.each([1, 3, 1_000])('messages are whole, whatever the size of the chunks (%i bytes)', (size) => {
  const stream = Buffer.concat([startup, aMessage('Q', 'begin'), aMessage('Q', 'commit')])
  const split = createSplitter({ isClient: true })
  const messages = Array.from({ length: Math.ceil(stream.length / size) }, (_, at) =>
    split(stream.subarray(at * size, (at + 1) * size)),
  ).flat()
  expect(messages.map(({ type }) => type)).toEqual(['', 'Q', 'Q'])
  expect(Buffer.concat(messages.map(({ bytes }) => bytes))).toEqual(stream)
})

test('a statement is executed by a simple query, and by each Bind of a prepared statement', () => {
  const read = createStatementReader()
  const split = createSplitter({ isClient: false })
  const executed = [
    aMessage('Q', 'begin'),
    aMessage('P', 'find', 'select 1'),
    aMessage('B', '', 'find'),
    aMessage('P', '', 'commit'),
    aMessage('B', '', ''),
    aMessage('B', '', 'find'),
    aMessage('S'),
  ].map((bytes) => split(bytes).map(read)[0])
  expect(executed).toEqual(['begin', undefined, 'select 1', undefined, 'commit', 'select 1', undefined])
})

test.each([
  ['insert into "worlds" ("id") values ($1) on conflict do update set id = 1', ['insert worlds']],
  ['update "worlds" set "name" = $1', ['update worlds']],
  [
    'with d as (delete from cluster_outbox o where id = 1) update worlds w set x = 1',
    ['delete cluster_outbox', 'update worlds'],
  ],
  ['select * from worlds for update', []],
  ['select * from worlds for update skip locked', []],
])('%s', (statement, changes) => {
  expect(changesOf(statement)).toEqual(changes)
})

test('a commit has the changes of its transaction, and a write outside of a transaction commits itself', () => {
  const commitOf = createTransactionTracker()
  const statements = ['begin', 'insert into b values (1)', 'rollback to savepoint s', 'delete from a', 'commit']
  expect(statements.map(commitOf)).toEqual([undefined, undefined, undefined, undefined, ['delete a', 'insert b']])
  expect(commitOf('update a set b = 1')).toEqual(['update a'])
  expect(['begin', 'delete from a', 'rollback', 'begin', 'select 1', 'commit'].map(commitOf)).toEqual(
    Array.from({ length: 6 }),
  )
})
