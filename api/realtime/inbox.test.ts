import { expect, test } from 'vitest'
import { aConnection, aScope, createFakePeer } from '#test/support/fakePeer.ts'
import { createInbox } from './inbox.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

/** An inbox whose work takes half a millisecond each, and the names of the work that is done. */
const createTestInbox = () => {
  let nowMs = 0
  const done: string[] = []
  const inbox = createInbox({ monotonic: () => nowMs, overflow: ({ peer }) => peer.close(1013, '') })
  const connect = (organizationId: string) => {
    const { peer, done: calls } = createFakePeer()
    const connection = aConnection(peer, { scope: { ...aScope, organizationId } })
    const sendBytes = (name: string, bytes: number) =>
      inbox.add(connection, bytes, () => {
        nowMs += 0.5
        done.push(name)
      })
    return { calls, sendBytes, send: (name: string) => sendBytes(name, 256), read: () => inbox.haveRead(connection) }
  }
  return { done, connect }
}

const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, at) => `${prefix}${at}`)

test('runs the work of a client at once while there is time', () => {
  const { done, connect } = createTestInbox()
  names('a', 4).forEach(connect('a').send)
  expect(done).toEqual(['a0', 'a1', 'a2', 'a3'])
})

test('runs 2 ms of work in a turn of the event loop, the work of a connection in order', async () => {
  const { done, connect } = createTestInbox()
  names('a', 10).forEach(connect('a').send)
  expect(done).toHaveLength(4)
  await turn()
  expect(done).toHaveLength(8)
  await turn()
  expect(done).toEqual(names('a', 10))
})

test('organizations take turns', async () => {
  const { done, connect } = createTestInbox()
  names('a', 20).forEach(connect('a').send)
  names('b', 2).forEach(connect('b').send)
  await turn()
  expect(done.slice(4)).toEqual(['a4', 'b0', 'a5', 'b1'])
})

test('a client is not read while its messages wait', async () => {
  const { done, connect } = createTestInbox()
  const client = connect('a')
  names('a', 4 + 8).forEach(client.send)
  expect(client.calls).toEqual(['pause'])
  await turn()
  expect([done.length, client.calls]).toEqual([8, ['pause']])
  await turn()
  expect([done.length, client.calls]).toEqual([12, ['pause', 'resume']])
})

test('a client whose bytes are read beyond the slice is not read until its turn', async () => {
  const { connect } = createTestInbox()
  const [busy, quiet] = [connect('a'), connect('b')]
  quiet.read()
  names('a', 5).forEach(busy.send)
  quiet.read()
  quiet.read()
  expect(quiet.calls).toEqual(['pause'])
  await turn()
  expect(quiet.calls).toEqual(['pause', 'resume'])
})

test('at most 64 clients are read again in a turn', async () => {
  const { connect } = createTestInbox()
  names('a', 4).forEach(connect('a').send)
  const clients = names('a', 100).map(connect)
  for (const { read } of clients) read()
  const countRead = (): number => clients.filter(({ calls }) => calls.includes('resume')).length
  await turn()
  expect(countRead()).toBe(64)
  await turn()
  expect(countRead()).toBe(100)
})

test('messages beyond 24 MiB of an organization are dropped, and their connection ends', async () => {
  const { done, connect } = createTestInbox()
  names('a', 4).forEach(connect('a').send)
  const [first, second, other] = [connect('a'), connect('a'), connect('b')]
  first.sendBytes('fits', 24 * 1024 * 1024)
  second.send('dropped')
  second.sendBytes('its end', 0)
  other.send('of another')
  expect([first.calls, second.calls, other.calls]).toEqual([['pause'], ['close 1013', 'pause'], ['pause']])
  await turn()
  second.send('later')
  await turn()
  expect(done.slice(4)).toEqual(['fits', 'of another', 'its end', 'later'])
})
