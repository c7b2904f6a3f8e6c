import { expect, test } from 'vitest'
import { fingerprintOf, newApiKey } from '#api/platform/secrets/apiKey.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createKeyCache } from './keyCache.ts'
import { anonymous } from './principal.ts'

const owner = anonymous('::1')
const [a, b] = [newApiKey(), newApiKey()]
const idOf = (apiKey: string): string => `key-${apiKey}`
const keyOf = new Map([a, b].map((apiKey) => [fingerprintOf(apiKey, 'pepper'), idOf(apiKey)]))

const aCache = () => {
  const clock = createFakeClock()
  let [queries, fails, isValid] = [0, false, true]
  const cache = createKeyCache({
    ...{ clock, peppers: ['pepper'] },
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
  const { clock, cache, queries, set } = aCache()
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

test('a revoked key stays valid for at most half a second, however often it is used', async () => {
  const { clock, cache, set } = aCache()
  await cache.lookup(a)
  set({ isValid: false })
  for (let at = 0; at < 5; at += 1) {
    clock.advance(100)
    if (at < 4) expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  }
  expect(await cache.lookup(a)).toBeUndefined()
})

test('repeats a failed query, and sees a forgotten key change at once', async () => {
  const { cache, set } = aCache()
  set({ fails: true })
  await expect(cache.lookup(a)).rejects.toThrow('away')
  set({ fails: false })
  expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  set({ isValid: false })
  cache.forget(idOf(a))
  expect(await cache.lookup(a)).toBeUndefined()
})

test('forgetting a key queries that key again and no other', async () => {
  const { cache, queries, set } = aCache()
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
  const { cache, set } = aCache()
  const before = cache.lookup(a)
  cache.forget(idOf(a))
  set({ isValid: false })
  await before
  expect(await cache.lookup(a)).toBeUndefined()
})

test('text that is not a key causes no query', async () => {
  const { cache, queries } = aCache()
  expect(await cache.lookup(a.slice(1))).toBeUndefined()
  expect(queries()).toBe(0)
})
