import { expect, test } from 'vitest'
import { newApiKey } from '#api/platform/secrets/apiKey.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createKeyCache } from './keyCache.ts'
import { anonymous } from './principal.ts'

const owner = anonymous('::1')
const [a, b] = [newApiKey(), newApiKey()]

const aCache = () => {
  const clock = createFakeClock()
  let [asked, fails, known] = [0, false, true]
  const cache = createKeyCache({
    ...{ clock, pepper: 'pepper' },
    find: async () => {
      asked += 1
      if (fails) throw new Error('away')
      return known ? owner : undefined
    },
  })
  return {
    clock,
    cache,
    asked: () => asked,
    set: (next: { fails?: boolean; known?: boolean }) => {
      fails = next.fails ?? fails
      known = next.known ?? known
    },
  }
}

test('a key is asked for once in half a second, also by requests at the same moment, and unknown ones too', async () => {
  const { clock, cache, asked, set } = aCache()
  set({ known: false })
  expect(await Promise.all([cache.lookup(a), cache.lookup(a)])).toEqual([undefined, undefined])
  clock.advance(499)
  await cache.lookup(a)
  expect(asked()).toBe(1)
  set({ known: true })
  clock.advance(1)
  expect(await cache.lookup(a)).toBe(owner)
  await cache.lookup(b)
  expect(asked()).toBe(3)
})

test('a revoked key is known at most half a second longer, however often it is used', async () => {
  const { clock, cache, set } = aCache()
  await cache.lookup(a)
  set({ known: false })
  for (let at = 0; at < 5; at += 1) {
    clock.advance(100)
    if (at < 4) expect(await cache.lookup(a)).toBe(owner)
  }
  expect(await cache.lookup(a)).toBeUndefined()
})

test('what could not be asked is asked again, and who changed a key sees it at once', async () => {
  const { cache, set } = aCache()
  set({ fails: true })
  await expect(cache.lookup(a)).rejects.toThrow('away')
  set({ fails: false })
  expect(await cache.lookup(a)).toBe(owner)
  set({ known: false })
  cache.clear()
  expect(await cache.lookup(a)).toBeUndefined()
})

test('a text that is no key is not looked up', async () => {
  const { cache, asked } = aCache()
  expect(await cache.lookup(a.slice(1))).toBeUndefined()
  expect(asked()).toBe(0)
})
