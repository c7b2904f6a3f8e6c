import { expect, test } from 'vitest'
import { delayOfLoad, emptySlot, existenceOf, mayBeNewer, toFault, withFault } from './worldLoad.ts'

const idle = { isWanted: true, isLoading: false, isHidden: false, startedAtMs: 0, permittedAtMs: 0, nowMs: 10_000 }
const apiError = (status: number) =>
  Object.assign(new Error('x'), { name: 'ApiError', status, code: '', detail: 'No.', requestId: 'req-1' })

test('loads at once after a second of rest, and at most once a second', () => {
  expect(delayOfLoad(idle)).toBe(0)
  expect(delayOfLoad({ ...idle, startedAtMs: 9_700 })).toBe(700)
})

test('waits at most a second after the clock was set back', () => {
  expect(delayOfLoad({ ...idle, startedAtMs: 90_000 })).toBe(1_000)
})

test('starts no load beside another, or in a hidden tab', () => {
  expect(delayOfLoad({ ...idle, isLoading: true })).toBeUndefined()
  expect(delayOfLoad({ ...idle, isHidden: true })).toBeUndefined()
})

test('loads again 20 seconds after the last load, since not every change is in the feed', () => {
  const unasked = { ...idle, isWanted: false }
  expect(delayOfLoad({ ...unasked, nowMs: 15_000 })).toBe(5_000)
  expect(delayOfLoad({ ...unasked, nowMs: 60_000 })).toBe(0)
  expect(delayOfLoad({ ...unasked, nowMs: 60_000, isHidden: true })).toBeUndefined()
  expect(delayOfLoad({ ...unasked, nowMs: 60_000, isLoading: true })).toBeUndefined()
})

test('loads again by itself when the API permits it, at most 5 minutes later', () => {
  const refused = { ...idle, isWanted: false, permittedAtMs: 70_000 }
  expect(delayOfLoad(refused)).toBe(60_000)
  expect(delayOfLoad({ ...refused, isWanted: true })).toBe(0)
  expect(delayOfLoad({ ...refused, permittedAtMs: 15_000 })).toBe(10_000)
  expect(delayOfLoad({ ...refused, permittedAtMs: 9_000_000 })).toBe(300_000)
})

test('counts a version of the feed as known if it is clearly older than the read', () => {
  const readAtMs = Date.parse('2026-01-01T12:00:00.000Z')
  expect(mayBeNewer('2026-01-01T11:58:00.000Z', { readAtMs })).toBe(false)
  expect(mayBeNewer('2026-01-01T11:59:30.000Z', { readAtMs })).toBe(true)
  expect(mayBeNewer('2026-01-01T12:01:00.000Z', { readAtMs })).toBe(true)
  expect(mayBeNewer('', { readAtMs })).toBe(false)
})

test('keeps the last value beside the fault of a later load', () => {
  const fault = toFault(apiError(500))
  expect(withFault({ value: 7, isLoading: true }, fault)).toEqual({ value: 7, fault, isLoading: false })
  expect(withFault(emptySlot, fault)).toEqual({ fault, isLoading: false })
})

test('explains an error of the API with its request id, and says whether the thing exists', () => {
  expect(toFault(apiError(404))).toMatchObject({ isMissing: true, detail: 'No.', requestId: 'req-1' })
  expect(toFault(apiError(403))).toMatchObject({ isMissing: false, title: 'Permission denied' })
})

test('explains any other error as that of a request without a response', () => {
  expect(toFault(new TypeError('Failed to fetch'))).toMatchObject({
    title: 'The API cannot be reached',
    isMissing: false,
  })
})

test('calls a world deleted only if it was seen before', () => {
  const missing = { isLoading: false, fault: toFault(apiError(404)) }
  const unseen = { hasShown: false, isShown: false }
  expect(existenceOf(emptySlot, unseen)).toBe('loading')
  expect(existenceOf(missing, unseen)).toBe('notFound')
  expect(existenceOf({ ...missing, value: 1 }, unseen)).toBe('deleted')
  expect(existenceOf({ value: 1, isLoading: false }, { hasShown: true, isShown: false })).toBe('deleted')
  expect(existenceOf({ value: 1, isLoading: false }, { hasShown: true, isShown: true })).toBe('present')
  expect(existenceOf({ value: 1, isLoading: false }, unseen)).toBe('present')
})

test('keeps a world that the feed shows while an older answer calls it missing', () => {
  const missing = { isLoading: false, fault: toFault(apiError(404)) }
  expect(existenceOf(missing, { hasShown: true, isShown: true })).toBe('present')
})
