import { expect, test } from 'vitest'
import type { Principal } from '#api/platform/auth/principal.ts'
import { createLog } from '#shared/log.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import type { LogEnd } from './encoding.ts'
import { recheckLogs } from './recheck.ts'

const log = createLog({ name: 'test', level: 'silent' })
const key: Principal = { kind: 'key', id: 'key-1', bucket: 'one key-1', permissions: ['*'], claims: [] }

/** Checks one log once, after its credential or its world has changed. Returns the reason of its end. */
const recheck = async (
  present: Principal | undefined | Error,
  findEnd: () => Promise<LogEnd | undefined> = async () => undefined,
): Promise<readonly LogEnd[]> => {
  const clock = createFakeClock()
  const stop = new AbortController()
  const ends: LogEnd[] = []
  const reader = { principal: key, organizationId: 'one', findEnd, end: (reason: LogEnd) => void ends.push(reason) }
  const readCredentials = async (): Promise<(Principal | undefined)[]> => {
    if (present instanceof Error) throw present
    return [present]
  }
  const running = recheckLogs({
    slots: { readers: () => [reader] },
    readCredentials,
    clock,
    log,
    signal: stop.signal,
  })
  clock.advance(500)
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
  stop.abort()
  clock.advance(500)
  await running
  return ends
}

test.each<[string, Principal | undefined]>([
  ['a revoked credential', undefined],
  ['an expired credential', { ...key, expiresAtMs: 0 }],
  ['a credential of other networks', { ...key, allowedNetworks: ['192.0.2.0/24'] }],
])('%s ends its log', async (_, present) => {
  expect(await recheck(present)).toEqual(['Revoked'])
})

test('the present permissions and the world decide about a valid credential', async () => {
  expect(await recheck(key, async () => 'Deleted')).toEqual(['Deleted'])
  expect(await recheck(key)).toEqual([])
})

test('a log goes on while the database does not answer', async () => {
  expect(await recheck(new Error('no database'))).toEqual([])
})
