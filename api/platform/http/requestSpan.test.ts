import { expect, test } from 'vitest'
import { endRequestSpan } from './requestSpan.ts'

test.each([
  [200, undefined],
  [409, undefined],
  [500, '500'],
  [501, undefined],
  [503, '503'],
])('a response with the status %i marks its span as failed with %s', (status, failed) => {
  let error: unknown
  const end = (result?: { error?: unknown }): void => {
    error = result?.error
  }
  endRequestSpan({ traceparent: undefined, end }, { method: 'GET', route: '/', status })
  expect(error).toBe(failed)
})
