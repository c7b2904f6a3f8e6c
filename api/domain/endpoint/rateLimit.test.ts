import { expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createRateLimits } from './rateLimit.ts'

const oneRequest = () => ({ maxRequestsPerSecond: 1, maxDocumentBytesPerSecond: 1 })
const documentRate = (maxDocumentBytesPerSecond: number) => () => ({
  maxRequestsPerSecond: 1,
  maxDocumentBytesPerSecond,
})

const options = { requestsPerSecond: 2, burst: 4, startsPerMinute: 2, failedCredentialsPerMinute: 3 }
const aKey = (bucket: string) => ({ kind: 'key' as const, id: bucket, bucket, permissions: [], claims: [] })
const refused = expect.objectContaining({
  code: 'rate_limited',
  headers: expect.objectContaining({ 'retry-after': '1' }),
})

test('a key has its burst, refills over time and never exceeds its burst', () => {
  const clock = createFakeClock()
  const { countRequest } = createRateLimits(clock, options, oneRequest)
  const left = () => countRequest(aKey('a'))['ratelimit-remaining']
  expect([left(), left(), left(), left()]).toEqual(['3', '2', '1', '0'])
  expect(left).toThrow(refused)
  clock.advance(499)
  expect(left).toThrow(refused)
  clock.advance(1)
  expect(left()).toBe('0')
  clock.advance(3_600_000)
  expect(left()).toBe('3')
  expect(countRequest(aKey('b'))['ratelimit-remaining']).toBe('3')
})

test('a wall clock that is set back has no effect', () => {
  const clock = createFakeClock(1_000_000)
  const { countRequest } = createRateLimits(clock, options, oneRequest)
  for (let at = 0; at < 4; at += 1) countRequest(aKey('a'))
  clock.jump(-600_000)
  clock.advance(500)
  countRequest(aKey('a'))
  expect(() => countRequest(aKey('a'))).toThrow(refused)
})

test('counts starts per world and scope, and not for the platform key', () => {
  const { countRequest, countStart } = createRateLimits(createFakeClock(), options, oneRequest)
  const scope = { organizationId: 'org-1', projectId: 'prj-1', principal: aKey('a') }
  countStart(scope, 'wld-1')
  countStart({ ...scope, principal: aKey('b') }, 'wld-1')
  expect(() => countStart({ ...scope, principal: aKey('c') }, 'wld-1')).toThrow('2 starts and stops per minute')
  countStart({ ...scope, organizationId: 'org-2' }, 'wld-1')
  countStart(scope, 'wld-2')
  countStart({ ...scope, principal: platform }, 'wld-1')
  for (let at = 0; at < 100; at += 1) expect(countRequest(platform)).toEqual({})
})

test('the keys of an organization share its limit, and another organization has its own', () => {
  const clock = createFakeClock()
  const { countRequest } = createRateLimits(clock, { ...options, burst: 100 }, oneRequest)
  const keyOf = (organizationId: string, id: string) => ({ ...aKey(id), organizationId })
  for (let at = 0; at < 10; at += 1) countRequest(keyOf('org-1', `key-${at}`))
  expect(() => countRequest(keyOf('org-1', 'key-10'))).toThrow('maxRequestsPerSecond')
  countRequest(keyOf('org-2', 'key-11'))
  clock.advance(1_000)
  countRequest(keyOf('org-1', 'key-10'))
  expect(() => countRequest(keyOf('org-1', 'key-10'))).toThrow('maxRequestsPerSecond')
})

test('a request above the limit of its key does not count against the organization', () => {
  const { countRequest } = createRateLimits(createFakeClock(), { ...options, burst: 1 }, oneRequest)
  const keyOf = (id: string) => ({ ...aKey(id), organizationId: 'org-1' })
  countRequest(keyOf('a'))
  for (let at = 0; at < 50; at += 1) expect(() => countRequest(keyOf('a'))).toThrow('requests per second')
  for (let at = 0; at < 9; at += 1) countRequest(keyOf(`b-${at}`))
})

test('the documents of an organization share its bytes: a burst of a minute, then the rate', () => {
  const clock = createFakeClock()
  const mebibyte = 1024 * 1024
  const { countDocumentBytes } = createRateLimits(clock, options, documentRate(mebibyte))
  const put = (organizationId: string, key: string) =>
    countDocumentBytes({ principal: aKey(key), organizationId }, mebibyte / 2)
  for (let at = 0; at < 120; at += 1) put('org-1', `key-${at % 2}`)
  expect(() => put('org-1', 'key-3')).toThrow(refused)
  expect(() => put('org-1', 'key-3')).toThrow('maxDocumentBytesPerSecond')
  put('org-2', 'key-4')
  countDocumentBytes({ principal: platform, organizationId: 'org-1' }, mebibyte)
  clock.advance(500)
  put('org-1', 'key-1')
  expect(() => put('org-1', 'key-1')).toThrow(refused)
})

test('a restore of any size is accepted, and the next one waits until the rate covers it', () => {
  const clock = createFakeClock()
  const { countRestoredBytes, countDocumentBytes } = createRateLimits(clock, options, documentRate(1024 * 1024))
  const restore = (bytes: number) => countRestoredBytes({ principal: aKey('a'), organizationId: 'org-1' }, bytes)
  restore(70 * 1024 * 1024)
  expect(() => restore(1)).toThrow(expect.objectContaining({ code: 'rate_limited', headers: { 'retry-after': '10' } }))
  countDocumentBytes({ principal: aKey('a'), organizationId: 'org-1' }, 1024 * 1024)
  clock.advance(10_000)
  restore(1)
})

test('the largest document can be written at the lowest rate', () => {
  const { countDocumentBytes } = createRateLimits(createFakeClock(), options, documentRate(1))
  const put = () => countDocumentBytes({ principal: aKey('a'), organizationId: 'org-1' }, 1024 * 1024)
  put()
  expect(put).toThrow('Retry after the time in Retry-After.')
})

test('counts failed credentials per address', () => {
  const { countFailure, checkFailures } = createRateLimits(createFakeClock(), options, oneRequest)
  for (let at = 0; at < 3; at += 1) {
    checkFailures('192.0.2.1')
    countFailure('192.0.2.1')
  }
  expect(() => checkFailures('192.0.2.1')).toThrow(expect.objectContaining({ headers: { 'retry-after': '20' } }))
  expect(() => countFailure('192.0.2.1')).toThrow(
    expect.objectContaining({ code: 'rate_limited', headers: { 'retry-after': '20' } }),
  )
  checkFailures('192.0.2.2')
  countFailure('192.0.2.2')
})

test('a sign-in counts as a failed credential of its address until it is taken back', () => {
  const { countSignIn, checkFailures } = createRateLimits(createFakeClock(), options, oneRequest)
  const sign = () => countSignIn('sign-ins', '192.0.2.1', 'a')
  const [forgive] = [sign(), sign(), sign()]
  expect(sign).toThrow('3 failed credentials per minute')
  expect(() => checkFailures('192.0.2.1')).toThrow('3 failed credentials per minute')
  countSignIn('sign-ins', '192.0.2.2', 'a')
  forgive?.()
  sign()
  expect(sign).toThrow('3 failed credentials per minute')
})

test('sign-ins are limited for each address and for each issuer, and renewals separately', () => {
  const clock = createFakeClock()
  const { countSignIn } = createRateLimits(clock, options, oneRequest)
  const succeed = (kind: 'sign-ins' | 'renewals', address: string, issuer: string) =>
    countSignIn(kind, address, issuer)()
  for (let at = 0; at < 500; at += 1) succeed('sign-ins', `2001:db8::${at % 5}:0:0:0:1`, 'a')
  expect(() => succeed('sign-ins', '192.0.2.9', 'a')).toThrow('50 sign-ins per second and issuer')
  succeed('sign-ins', '192.0.2.9', 'b')
  succeed('renewals', '192.0.2.9', 'a')
  expect(() => succeed('sign-ins', '2001:db8::1:0:0:0:2', 'b')).toThrow('1 sign-ins per second and address')
  clock.advance(1_000)
  succeed('sign-ins', '2001:db8::1:0:0:0:2', 'b')
  for (let at = 0; at < 500; at += 1) succeed('renewals', '192.0.2.1', 'a')
  expect(() => succeed('renewals', '192.0.2.1', 'b')).toThrow('5 renewals per second and address')
})
