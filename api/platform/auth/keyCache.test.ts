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
  let [asked, fails, known] = [0, false, true]
  const cache = createKeyCache({
    ...{ clock, peppers: ['pepper'] },
    find: async ([fingerprint = '']) => {
      asked += 1
      if (fails) throw new Error('away')
      const id = keyOf.get(fingerprint) ?? ''
      return { ids: [id], principal: known ? { ...owner, id } : undefined }
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
  expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  await cache.lookup(b)
  expect(asked()).toBe(3)
})

test('a revoked key is known at most half a second longer, however often it is used', async () => {
  const { clock, cache, set } = aCache()
  await cache.lookup(a)
  set({ known: false })
  for (let at = 0; at < 5; at += 1) {
    clock.advance(100)
    if (at < 4) expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  }
  expect(await cache.lookup(a)).toBeUndefined()
})

test('what could not be asked is asked again, and who changed a key sees it at once', async () => {
  const { cache, set } = aCache()
  set({ fails: true })
  await expect(cache.lookup(a)).rejects.toThrow('away')
  set({ fails: false })
  expect(await cache.lookup(a)).toMatchObject({ id: idOf(a) })
  set({ known: false })
  cache.forget(idOf(a))
  expect(await cache.lookup(a)).toBeUndefined()
})

test('a changed key is looked up again at once, and no other key is', async () => {
  const { cache, asked, set } = aCache()
  await Promise.all([cache.lookup(a), cache.lookup(b)])
  expect(asked()).toBe(2)
  set({ known: false })
  cache.forget(idOf(a))
  expect(await cache.lookup(a)).toBeUndefined()
  expect(asked()).toBe(3)
  expect((await cache.lookup(b))?.id).toBe(idOf(b))
  expect(asked()).toBe(3)
  // An inactive key is remembered too, and may become active.
  set({ known: true })
  cache.forget(idOf(a))
  expect((await cache.lookup(a))?.id).toBe(idOf(a))
})

test('a look-up that began before the change is not remembered', async () => {
  const { cache, set } = aCache()
  const before = cache.lookup(a)
  cache.forget(idOf(a))
  set({ known: false })
  await before
  expect(await cache.lookup(a)).toBeUndefined()
})

test('a text that is no key is not looked up', async () => {
  const { cache, asked } = aCache()
  expect(await cache.lookup(a.slice(1))).toBeUndefined()
  expect(asked()).toBe(0)
})
