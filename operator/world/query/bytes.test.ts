import { describe, expect, test } from 'vitest'
import { hex } from '#operator/testing/exchange.ts'
import { fc } from '#test/support/fastCheck.ts'
import { CutError, createReader, joinBytes, type Reader, readBytes } from './bytes.ts'

const read = <T>(dump: string, reading: (reader: Reader) => T) => readBytes(hex(dump), reading)

describe('a reader', () => {
  test('reads numbers in network order, and in the other one on request', () => {
    expect(
      read('01 0203 0203 04050607 04050607', (reader) => [
        reader.u8('a'),
        reader.u16('b'),
        reader.u16('c', 'little'),
        reader.u32('d'),
        reader.u32('e', 'little'),
      ]),
    ).toEqual([1, 0x0203, 0x0302, 0x04050607, 0x07060504])
    expect(read('ffffffff ffff ff', (reader) => [reader.u32('a'), reader.u16('b'), reader.u8('c')])).toEqual([
      4_294_967_295, 65_535, 255,
    ])
  })

  test('reads a view of a larger buffer from the start of the view', () => {
    const view = hex('aaaa 0102 aaaa').subarray(2, 4)
    expect(createReader(view).u16('a')).toBe(0x0102)
    expect(() => createReader(view).u32('a')).toThrow(CutError)
  })

  test('reads text up to a zero, text of a length, bytes and the rest', () => {
    const found = read('6162 00 c3a9 01 02 03', (reader) => [
      reader.textToZero('a'),
      reader.text(2, 'b'),
      reader.take(1, 'c'),
      reader.rest(),
      reader.rest(),
    ])
    expect(found).toEqual(['ab', 'é', hex('01'), hex('0203'), hex('')])
  })

  test('keeps the bytes that are not UTF-8 as U+FFFD, and a byte order mark as a character', () => {
    expect(read('efbbbf 61 ff 62', (reader) => reader.text(6, 'a'))).toBe('\ufeffa\ufffdb')
  })

  test.each<[string, string, (reader: Reader) => unknown, string]>([
    ['a byte', '', (reader) => reader.u8('the number of players'), 'has 0 bytes and ends before the number of players'],
    ['a short', '01', (reader) => reader.u16('the port'), 'has 1 byte and ends before the port'],
    ['a long', '010203', (reader) => reader.u32('the token'), 'has 3 bytes and ends before the token'],
    ['bytes', '0102', (reader) => reader.take(3, 'the end'), 'has 2 bytes and ends before the end'],
    ['text', '6162', (reader) => reader.text(3, 'the map'), 'has 2 bytes and ends before the end of the map'],
    [
      'text to zero',
      '6162',
      (reader) => reader.textToZero('the map'),
      'has 2 bytes and ends before the end of the map',
    ],
  ])('says where the bytes end before %s', (_, dump, reading, fault) => {
    expect(read(dump, reading)).toEqual({ kind: 'fault', fault })
  })

  test.each([-1, 5, 4_294_967_295, Number.POSITIVE_INFINITY])('refuses the length %s of 4 bytes', (length) => {
    expect(read('01020304', (reader) => reader.take(length, 'the end'))).toMatchObject({ kind: 'fault' })
    expect(read('01020304', (reader) => reader.text(length, 'the map'))).toMatchObject({ kind: 'fault' })
  })

  test('does not move on with a read that fails', () => {
    const reader = createReader(hex('0102'))
    expect(() => reader.u32('a')).toThrow(CutError)
    expect(() => reader.take(-1, 'a')).toThrow(CutError)
    expect(reader.u16('b')).toBe(0x0102)
  })

  test('hides no error but that of cut bytes', () => {
    const reading = () => {
      throw new RangeError('a bug')
    }
    expect(() => read('01', reading)).toThrow(RangeError)
  })

  test('never returns a text that is longer than the bytes', () => {
    const property = fc.property(fc.uint8Array({ maxLength: 64 }), fc.nat(100), (bytes, length) => {
      const texts = [
        readBytes(bytes, (reader) => reader.textToZero('a')),
        readBytes(bytes, (reader) => reader.text(length, 'a')),
      ]
      for (const text of texts) if (typeof text === 'string') expect(text.length).toBeLessThanOrEqual(bytes.length)
    })
    fc.assert(property)
  })
})

test('joined bytes are the bytes of all parts in their order', () => {
  expect(joinBytes([hex('01'), hex(''), hex('0203')])).toEqual(hex('010203'))
  expect(joinBytes([])).toEqual(hex(''))
})
