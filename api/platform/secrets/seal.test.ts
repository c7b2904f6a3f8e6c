import { expect, test } from 'vitest'
import { createSealer } from './seal.ts'

const old = { id: 'old', key: Buffer.alloc(32, 1) }
const current = { id: 'current', key: Buffer.alloc(32, 2) }
const sealer = createSealer([old])

test('opens what it sealed, and seals equal secrets into different text', () => {
  const [first, second] = [sealer.seal('secret', 'row 1'), sealer.seal('secret', 'row 1')]
  expect(sealer.open(first, 'row 1')).toBe('secret')
  expect(first).not.toBe(second)
  expect(Buffer.from(first.split('.')[3] ?? '', 'base64url').toString('latin1')).not.toContain('secret')
})

test('rejects sealed text for another row, with a changed byte or with another key', () => {
  const sealed = sealer.seal('secret', 'row 1')
  expect(() => sealer.open(sealed, 'row 2')).toThrow()
  const [version, id, wrapped = '', content = ''] = sealed.split('.')
  const flip = (part: string): string => {
    const bytes = Buffer.from(part, 'base64url')
    bytes.writeUInt8(bytes.readUInt8(15) ^ 1, 15)
    return bytes.toString('base64url')
  }
  expect(() => sealer.open([version, id, flip(wrapped), content].join('.'), 'row 1')).toThrow()
  expect(() => sealer.open([version, id, wrapped, flip(content)].join('.'), 'row 1')).toThrow()
  expect(() => createSealer([{ ...old, key: current.key }]).open(sealed, 'row 1')).toThrow()
  expect(() => createSealer([current]).open(sealed, 'row 1')).toThrow('does not contain the key "old"')
  expect(() => sealer.open('secret', 'row 1')).toThrow('not in the sealed format')
})

test('opens text of the old key after a rotation, and does not need that key once it is rewrapped', () => {
  const sealed = sealer.seal('secret', 'row 1')
  const both = createSealer([current, old])
  expect(both.open(sealed, 'row 1')).toBe('secret')
  const rewrapped = both.rewrap(sealed, 'row 1') ?? ''
  expect(createSealer([current]).open(rewrapped, 'row 1')).toBe('secret')
  expect(both.rewrap(rewrapped, 'row 1')).toBeUndefined()
  expect(() => both.rewrap(sealed, 'row 2')).toThrow()
})
