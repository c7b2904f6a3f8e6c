import { expect, test } from 'vitest'
import { createAttemptGate } from './attemptGate.ts'

const aGate = () => {
  const time = { ms: 0 }
  const gate = createAttemptGate({ monotonic: () => time.ms })
  let attempts = 0
  const wake = (wokenBy: string, end: () => Promise<void>) =>
    gate({
      subject: 'wld-1',
      caller: wokenBy,
      run: () => {
        attempts += 1
        return end()
      },
      refusedBy: (error) => (error === tooOften ? 'caller' : error === noRoom ? 'subject' : undefined),
    }).then(
      () => 'woken',
      ({ message }: Error) => message,
    )
  return { time, wake, attempts: () => attempts }
}

const noRoom = new Error('no room')
const tooOften = new Error('too often')
const refuse = (error: Error) => () => Promise.reject(error)
const done = () => Promise.resolve()

test('a crowd at a world that cannot start makes one attempt in five seconds, and all get its refusal', async () => {
  const { time, wake, attempts } = aGate()
  const crowd = () => Promise.all(Array.from({ length: 100 }, (_, at) => wake(`org-1/user-${at}`, refuse(noRoom))))
  expect(new Set(await crowd())).toEqual(new Set(['no room']))
  expect(new Set(await crowd())).toEqual(new Set(['no room']))
  expect(attempts()).toBe(1)
  time.ms = 5_000
  expect(await wake('org-1/ann', done)).toBe('woken')
  expect(attempts()).toBe(2)
})

test('a crowd at a world that starts makes one attempt', async () => {
  const { wake, attempts } = aGate()
  const results = await Promise.all(Array.from({ length: 100 }, (_, at) => wake(`org-1/user-${at}`, done)))
  expect(new Set(results)).toEqual(new Set(['woken']))
  expect(attempts()).toBe(1)
})

test('a caller above its own rate keeps no other from waking the world', async () => {
  const { wake, attempts } = aGate()
  expect(await Promise.all([wake('org-1/ann', refuse(tooOften)), wake('org-2/bob', done)])).toEqual([
    'too often',
    'woken',
  ])
  expect(await wake('org-1/ann', done)).toBe('too often')
  expect(attempts()).toBe(2)
})

test('an unexpected error is not remembered', async () => {
  const { wake, attempts } = aGate()
  expect(await wake('org-1/ann', () => Promise.reject(new Error('lost connection')))).toBe('lost connection')
  expect(await wake('org-1/ann', done)).toBe('woken')
  expect(attempts()).toBe(2)
})
