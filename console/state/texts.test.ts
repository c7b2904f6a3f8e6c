import { expect, test } from 'vitest'
import { explainFailure, remedyBeside } from './texts.ts'

const explain = (
  status: number,
  code = 'unknown',
  more: { detail?: string; requestId?: string; retryAfterSeconds?: number } = {},
) =>
  explainFailure({
    status,
    code,
    detail: 'The API says why.',
    requestId: undefined,
    retryAfterSeconds: undefined,
    ...more,
  })

test.each([
  [0, 'network', /cannot be reached/, /network/],
  [400, 'invalid_request', /input is not valid/, /Correct/],
  [401, 'unauthenticated', /sign-in is not valid/, /Sign in again/],
  [403, 'forbidden', /Permission denied/, /administrator/],
  [403, 'size_not_allowed', /platform does not allow/, /another value/],
  [403, 'image_not_allowed', /platform does not allow/, /another value/],
  [403, 'host_port_not_allowed', /platform does not allow/, /another value/],
  [404, 'not_found', /Not found/, /fleet/],
  [409, 'conflict', /present state/, /try again/],
  [409, 'limit_reached', /limit of the organization/, /Stop or delete/],
  [412, 'precondition_failed', /Somebody else/, /Nothing was saved/],
  [422, 'build_unresolved', /build cannot be resolved/, /channel and a tag/],
  [422, 'sleep_unsupported', /does not report its players/, /query/],
  [422, 'unknown', /input is not valid/, /Correct/],
  [429, 'rate_limited', /Too many requests/, /Wait a moment/],
  [502, 'unknown', /not available/, /Try again/],
  [503, 'unavailable', /not available/, /Try again in a moment/],
  [504, 'unknown', /not available/, /Try again/],
  [500, 'internal_error', /request failed/, /Try again/],
  [418, 'toString', /request failed/, /Try again/],
])('explains %d %s', (status, code, title, remedy) => {
  expect(explain(status, code)).toEqual({
    title: expect.stringMatching(title),
    detail: 'The API says why.',
    remedy: expect.stringMatching(remedy),
    requestId: undefined,
  })
})

test('says how long to wait', () => {
  expect(explain(429, 'rate_limited', { retryAfterSeconds: 1 }).remedy).toBe('Wait 1 second, then try again.')
  expect(explain(429, 'rate_limited', { retryAfterSeconds: 4 }).remedy).toBe('Wait 4 seconds, then try again.')
  expect(explain(503, 'unavailable', { retryAfterSeconds: 5 })).toMatchObject({
    remedy: expect.stringMatching(/^Try again in 5 seconds\./),
    waitSeconds: 5,
  })
})

test('has the id of the request, and says whom to tell it', () => {
  const { remedy, requestId } = explain(500, 'internal_error', { requestId: 'req-1' })
  expect(requestId).toBe('req-1')
  expect(remedy).toContain('request id')
  expect(explain(500, 'internal_error').remedy).not.toContain('request id')
})

test('names the limit that was reached, if the API says it', () => {
  expect(explain(409, 'limit_reached', { detail: 'It has 50 of 50 worlds (maxWorlds).' }).limit).toBe('maxWorlds')
  expect(explain(409, 'limit_reached').limit).toBeUndefined()
  expect(explain(409, 'conflict', { detail: 'About maxWorlds.' }).limit).toBeUndefined()
})

test('a remedy is shown unless the message says what to do', () => {
  const remedy = 'Choose a larger scaling profile.'
  const message = 'Failed 4 times; last error: the server exceeded its memory limit of 4Gi.'
  expect(remedyBeside(message, remedy)).toBe(remedy)
  expect(remedyBeside(`${message} ${remedy}`, remedy)).toBeUndefined()
  expect(remedyBeside('No node has room. Choose a smaller scaling profile.', 'Choose a smaller size.')).toBeUndefined()
})
