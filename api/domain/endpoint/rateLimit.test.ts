import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createRateLimits } from './rateLimit.ts'

const options = { requestsPerSecond: 2, burst: 4, startsPerMinute: 2, failedCredentialsPerMinute: 3 }
const aKey = (bucket: string) => ({ kind: 'key' as const, id: bucket, bucket, permissions: [], claims: [] })
const refused = expect.objectContaining({
  code: 'rate_limited',
  headers: expect.objectContaining({ 'retry-after': '1' }),
})

test('a key has its burst, then as much as time brings, never more than its burst', () => {
  const clock = createFakeClock()
  const { take } = createRateLimits(clock, options)
  const left = () => take(aKey('a'))['ratelimit-remaining']
  expect([left(), left(), left(), left()]).toEqual(['3', '2', '1', '0'])
  expect(left).toThrow(refused)
  clock.advance(499)
  expect(left).toThrow(refused)
  clock.advance(1)
  expect(left()).toBe('0')
  clock.advance(3_600_000)
  expect(left()).toBe('3')
  expect(take(aKey('b'))['ratelimit-remaining']).toBe('3')
})

test('a wall clock that is set back changes nothing', () => {
  const clock = createFakeClock(1_000_000)
  const { take } = createRateLimits(clock, options)
  for (let at = 0; at < 4; at += 1) take(aKey('a'))
  clock.jump(-600_000)
  clock.advance(500)
  take(aKey('a'))
  expect(() => take(aKey('a'))).toThrow(refused)
})

test('starts are counted by the world beneath its scope, and the platform is not counted', () => {
  const { take, takeForWorld } = createRateLimits(createFakeClock(), options)
  const scope = { organizationId: 'org-1', projectId: 'prj-1', principal: aKey('a') }
  takeForWorld(scope, 'wld-1')
  takeForWorld({ ...scope, principal: aKey('b') }, 'wld-1')
  expect(() => takeForWorld({ ...scope, principal: aKey('c') }, 'wld-1')).toThrow('2 starts and stops a minute')
  takeForWorld({ ...scope, organizationId: 'org-2' }, 'wld-1')
  takeForWorld(scope, 'wld-2')
  takeForWorld({ ...scope, principal: platform }, 'wld-1')
  for (let at = 0; at < 100; at += 1) expect(take(platform)).toEqual({})
})

test('an organization has its share for all of its keys, beyond which another organization goes on', () => {
  const clock = createFakeClock()
  const { take } = createRateLimits(clock, { ...options, burst: 100 }, () => 1)
  const keyOf = (organizationId: string, id: string) => ({ ...aKey(id), homeTenantId: organizationId })
  for (let at = 0; at < 10; at += 1) take(keyOf('org-1', `key-${at}`))
  expect(() => take(keyOf('org-1', 'key-10'))).toThrow('maxRequestsPerSecond')
  take(keyOf('org-2', 'key-11'))
  clock.advance(1_000)
  take(keyOf('org-1', 'key-10'))
  expect(() => take(keyOf('org-1', 'key-10'))).toThrow('maxRequestsPerSecond')
})

test('what exceeds the limit of one key does not count against the others of its organization', () => {
  const { take } = createRateLimits(createFakeClock(), { ...options, burst: 1 }, () => 1)
  const keyOf = (id: string) => ({ ...aKey(id), homeTenantId: 'org-1' })
  take(keyOf('a'))
  for (let at = 0; at < 50; at += 1) expect(() => take(keyOf('a'))).toThrow('requests a second')
  for (let at = 0; at < 9; at += 1) take(keyOf(`b-${at}`))
})

test('failed credentials are counted by address', () => {
  const { takeForFailure } = createRateLimits(createFakeClock(), options)
  for (let at = 0; at < 3; at += 1) takeForFailure('192.0.2.1')
  expect(() => takeForFailure('192.0.2.1')).toThrow(
    expect.objectContaining({ code: 'rate_limited', headers: { 'retry-after': '20' } }),
  )
  takeForFailure('192.0.2.2')
})
