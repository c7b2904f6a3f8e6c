import { expect, test } from 'vitest'
import { fingerprintOf, newApiKey } from '#api/platform/secrets/apiKey.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createKeyCache } from './keyCache.ts'
import { anonymous } from './principal.ts'

const owner = anonymous('::1')
const [a, b] = [newApiKey(), newApiKey()]
const idOf = (apiKey: string): string => `key-${apiKey}`
const keyOf = new Map([a, b].map((apiKey) => [fingerprintOf(apiKey, 'pepper'), idOf(apiKey)]))

const createTestCache = () => {
  const clock = createFakeClock()
  let [queries, fails, isValid] = [0, false, true]
  const cache = createKeyCache({
    clock,
    peppers: ['pepper'],
    find: async ([fingerprint = '']) => {
      queries += 1
      if (fails) throw new Error('away')
      const id = keyOf.get(fingerprint) ?? ''
      return { ids: [id], principal: isValid ? { ...owner, id } : undefined }
    },
  })
  return {
    clock,
    cache,
    queries: () => queries,
    set: (next: { fails?: boolean; isValid?: boolean }) => {
      fails = next.fails ?? fails
      isValid = next.isValid ?? isValid
    },
  }
}

test('queries a key once per half second, also for concurrent requests and unknown keys', async () => {
  const { clock, cache, queries, set } = createTestCache()
  set({ isValid: false })
  expect(await Promise.all([cache.lookup(a), cache.lookup(a)])).toEqual([undefined, undefined])
  clock.advance(499)
  await cache.lookup(a)
  expect(queries()).toBe(1)
  set({ isValid: true })
  clock.advance(1)
  expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  await cache.lookup(b)
  expect(queries()).toBe(3)
})

test('accepts a revoked key for at most half a second, however often it is used', async () => {
  const { clock, cache, set } = createTestCache()
  await cache.lookup(a)
  set({ isValid: false })
  for (let at = 0; at < 5; at += 1) {
    clock.advance(100)
    if (at < 4) expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  }
  expect(await cache.lookup(a)).toBeUndefined()
})

test('repeats a failed query, and sees a forgotten key change at once', async () => {
  const { cache, set } = createTestCache()
  set({ fails: true })
  await expect(cache.lookup(a)).rejects.toThrow('away')
  set({ fails: false })
  expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  set({ isValid: false })
  cache.forget(idOf(a))
  expect(await cache.lookup(a)).toBeUndefined()
})

test('queries only a forgotten key again', async () => {
  const { cache, queries, set } = createTestCache()
  await Promise.all([cache.lookup(a), cache.lookup(b)])
  expect(queries()).toBe(2)
  set({ isValid: false })
  cache.forget(idOf(a))
  expect(await cache.lookup(a)).toBeUndefined()
  expect(queries()).toBe(3)
  expect((await cache.lookup(b))?.id).toBe(idOf(b))
  expect(queries()).toBe(3)
  // An invalid key is cached too, and may become valid.
  set({ isValid: true })
  cache.forget(idOf(a))
  expect((await cache.lookup(a))?.id).toBe(idOf(a))
})

test('does not cache a query that began before the change', async () => {
  const { cache, set } = createTestCache()
  const before = cache.lookup(a)
  cache.forget(idOf(a))
  set({ isValid: false })
  await before
  expect(await cache.lookup(a)).toBeUndefined()
})

test('makes no query for text that is not a key', async () => {
  const { cache, queries } = createTestCache()
  expect(await cache.lookup(a.slice(1))).toBeUndefined()
  expect(queries()).toBe(0)
})
