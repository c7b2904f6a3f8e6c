import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { createIdSource, deploymentIdOfRun, idOfUid, isId } from './ids.ts'

test('sorts identifiers of one source by creation, within a millisecond and when the clock steps back', () => {
  const times = [1000, 1000, 1000, 999, 1000, 1001, 5000]
  let index = 0
  const newId = createIdSource({ now: () => times[Math.min(index++, times.length - 1)] ?? 0 })
  const ids = Array.from({ length: 20_000 }, () => newId('world'))
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('creates identifiers of a prefix and 26 characters, which isId accepts for their own kind only', () => {
  const newId = createIdSource({ now: () => Date.UTC(2026, 0, 1) })
  const id = newId('launchContext')
  expect(id).toMatch(/^lctx-[0-9a-hjkmnp-tv-z]{26}$/)
  expect(isId('launchContext', id)).toBe(true)
  expect(isId('world', id)).toBe(false)
  expect(isId('world', 'wld-UPPER00000000000000000000')).toBe(false)
})

test('encodes the time and the version and variant of a UUIDv7 (RFC 9562)', () => {
  const nowMs = 0x017f22e279b0
  const newId = createIdSource({ now: () => nowMs, random: (size) => Buffer.alloc(size, 0xff) })
  const uuid = decode(newId('run'))
  expect(uuid >> 80n).toBe(BigInt(nowMs))
  expect((uuid >> 76n) & 0xfn).toBe(7n)
  expect((uuid >> 62n) & 0b11n).toBe(0b10n)
})

test('writes each UUID of Kubernetes in 26 digits of Crockford base32', () => {
  expect(idOfUid('world', '017f22e2-79b0-7cc3-98c4-dc0c0c07398f')).toBe('wld-01fwhe4ydgfk1shh6w1g60eecf')
  fc.assert(
    fc.property(fc.uuid(), (uid) => {
      const id = idOfUid('world', uid)
      expect(isId('world', id)).toBe(true)
      expect(decode(id)).toBe(BigInt(`0x${uid.replaceAll('-', '')}`))
    }),
  )
})

/** Returns the number that the digits of an identifier stand for. */
const decode = (id: string): bigint =>
  [...id.slice(id.indexOf('-') + 1)].reduce(
    (value, digit) => value * 32n + BigInt('0123456789abcdefghjkmnpqrstvwxyz'.indexOf(digit)),
    0n,
  )

test('derives the id of a deployment from the characters of its run id', () => {
  expect(deploymentIdOfRun('run-01fwhe4ydggrzr3z7zzzzzzzzz')).toBe('dep-01fwhe4ydggrzr3z7zzzzzzzzz')
})

test('sorts identifiers by creation for any clock steps and any random part', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2 ** 47 }), { maxLength: 50 }), fc.nat(255), (times, fill) => {
      let at = 0
      const newId = createIdSource({ now: () => times[at++] ?? 0, random: (size) => Buffer.alloc(size, fill) })
      const ids = times.map(() => newId('world'))
      expect([...ids].sort()).toEqual(ids)
      expect(new Set(ids).size).toBe(ids.length)
    }),
  )
})
