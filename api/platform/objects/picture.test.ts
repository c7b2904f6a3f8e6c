import { createHash } from 'node:crypto'
import { crc32, deflateSync } from 'node:zlib'
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { PictureError, transformPicture } from './picture.ts'

const owner = 'org-a'
const red = { r: 255, g: 0, b: 0 }
const blue = { r: 0, g: 0, b: 255 }

const aPicture = (width: number, height: number, background = red) =>
  sharp({ create: { width, height, channels: 3, background } })

/** Noise does not compress, so half of the file is about half of the pixels. */
const aNoisyPicture = () =>
  sharp({
    create: {
      width: 200,
      height: 200,
      channels: 3,
      background: red,
      noise: { type: 'gaussian', mean: 128, sigma: 50 },
    },
  })

const aPngChunk = (type: string, data: Buffer): Buffer => {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

/** Builds a PNG of a few bytes that claims these dimensions. */
const aPngThatClaims = (width: number, height: number): Buffer => {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 2, 0, 0, 0])
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    aPngChunk('IHDR', header),
    aPngChunk('IDAT', deflateSync(Buffer.alloc(100_000))),
    aPngChunk('IEND', Buffer.alloc(0)),
  ])
}

/** Inserts a chunk after the header of a PNG. */
const withChunk = (png: Buffer, chunk: Buffer): Buffer => {
  const afterHeader = 33
  return Buffer.concat([png.subarray(0, afterHeader), chunk, png.subarray(afterHeader)])
}

const refusalOf = async (bytes: Uint8Array): Promise<Pick<PictureError, 'code' | 'message'>> => {
  const error = await transformPicture(owner, bytes).catch((thrown: unknown) => thrown)
  if (!(error instanceof PictureError)) throw new Error('the picture was not refused', { cause: error })
  return { code: error.code, message: error.message }
}
const tooLarge = { code: 'invalid_picture', message: 'The picture must have at most 16 megapixels.' }
const damaged = { code: 'invalid_picture', message: 'The picture is truncated or damaged. Export it again.' }
const animated = { code: 'invalid_picture', message: 'The picture is animated. Send a still picture.' }
const unsupported = {
  code: 'unsupported_media_type',
  message: 'The content of the picture must be PNG, JPEG or WebP.',
}

describe('a picture', () => {
  test.each(['png', 'jpeg', 'webp'] as const)('in %s is converted to WebP', async (format) => {
    const { bytes } = await transformPicture(owner, await aPicture(60, 40).toFormat(format).toBuffer())
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 60, height: 40 })
  })

  test('is scaled to fit 1024 by 1024 and keeps its aspect ratio', async () => {
    const { bytes } = await transformPicture(owner, await aPicture(3000, 1000).png().toBuffer())
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 1024, height: 341 })
  })

  test('that is small is not enlarged', async () => {
    const { bytes } = await transformPicture(owner, await aPicture(5, 3).png().toBuffer())
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 5, height: 3 })
  })

  test('of exactly 16 megapixels is accepted', async () => {
    const { bytes } = await transformPicture(owner, await aPicture(4000, 4000).png().toBuffer())
    expect(await sharp(bytes).metadata()).toMatchObject({ width: 1024, height: 1024 })
  })

  test('keeps its transparency', async () => {
    const clear = sharp({ create: { width: 8, height: 8, channels: 4, background: { ...red, alpha: 0 } } })
    const { bytes } = await transformPicture(owner, await clear.png().toBuffer())
    expect((await sharp(bytes).metadata()).hasAlpha).toBe(true)
  })

  test('always gives the same bytes, with their SHA-256', async () => {
    const picture = await aNoisyPicture().jpeg().toBuffer()
    const [first, second] = await Promise.all([transformPicture(owner, picture), transformPicture(owner, picture)])
    expect(Buffer.compare(first.bytes, second.bytes)).toBe(0)
    expect(first.sha256).toBe(second.sha256)
    expect(first.sha256).toBe(createHash('sha256').update(first.bytes).digest('hex'))
  })

  test('is turned upright and loses its metadata', async () => {
    const right = await aPicture(30, 40, blue).png().toBuffer()
    const lying = await aPicture(60, 40)
      .composite([{ input: right, left: 30, top: 0 }])
      .withExif({
        IFD0: { Copyright: 'marker-of-the-owner' },
        IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100' },
      })
      .withXmp('<x:xmpmeta xmlns:x="adobe:ns:meta/">marker-of-the-owner</x:xmpmeta>')
      .withIccProfile('p3')
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer()
    const given = await sharp(lying).metadata()
    expect([given.orientation, given.exif, given.xmp, given.icc].every((part) => part !== undefined)).toBe(true)

    const { bytes } = await transformPicture(owner, lying)
    const made = await sharp(bytes).metadata()
    expect(made).toMatchObject({ width: 40, height: 60 })
    expect([made.orientation, made.exif, made.xmp, made.iptc, made.icc]).toEqual(Array(5).fill(undefined))
    expect(Buffer.from(bytes).includes('marker-of-the-owner')).toBe(false)
    const { dominant } = await sharp(
      await sharp(bytes).extract({ left: 0, top: 0, width: 40, height: 20 }).toBuffer(),
    ).stats()
    expect(dominant.r).toBeGreaterThan(dominant.b)
  })

  test.each(['png', 'jpeg', 'webp'] as const)('in %s loses a file that is appended to it', async (format) => {
    const picture = await aPicture(60, 40).toFormat(format).toBuffer()
    const both = Buffer.concat([picture, Buffer.from('PK\x03\x04<html><script>marker-of-the-polyglot</script></html>')])
    const { bytes } = await transformPicture(owner, both)
    expect(Buffer.from(bytes).includes('marker-of-the-polyglot')).toBe(false)
    expect(Buffer.from(bytes).includes('<html>')).toBe(false)
    expect(bytes).toEqual((await transformPicture(owner, picture)).bytes)
  })

  test('loses the text chunks inside it', async () => {
    const text = aPngChunk('tEXt', Buffer.from('Comment\0<script>marker-of-the-text</script>'))
    const { bytes } = await transformPicture(owner, withChunk(await aPicture(60, 40).png().toBuffer(), text))
    expect(Buffer.from(bytes).includes('marker-of-the-text')).toBe(false)
  })
})

describe('a picture is refused', () => {
  test('that claims 30000 by 30000 pixels in a few bytes', async () => {
    expect(await refusalOf(aPngThatClaims(30_000, 30_000))).toEqual(tooLarge)
  })

  test('whose decoded size does not fit in 32 bits', async () => {
    expect((await refusalOf(aPngThatClaims(0x7fff_ffff, 0x7fff_ffff))).code).toBe('invalid_picture')
  })

  test('of one colour that has 16.1 megapixels', async () => {
    const bomb = await aPicture(4025, 4000).png({ compressionLevel: 9 }).toBuffer()
    expect(bomb.byteLength).toBeLessThan(100_000)
    expect(await refusalOf(bomb)).toEqual(tooLarge)
  })

  test.each(['png', 'jpeg', 'webp'] as const)('in %s without its second half', async (format) => {
    const picture = await aNoisyPicture().toFormat(format).toBuffer()
    expect(await refusalOf(picture.subarray(0, picture.byteLength / 2))).toEqual(damaged)
  })

  test.each(['png', 'jpeg', 'webp'] as const)('in %s that ends within its header', async (format) => {
    const picture = await aPicture(60, 40).toFormat(format).toBuffer()
    expect(await refusalOf(picture.subarray(0, 20))).toEqual(damaged)
  })

  test('with a damaged byte in the pixels of a PNG', async () => {
    const picture = await aNoisyPicture().png().toBuffer()
    const middle = picture.byteLength >> 1
    picture[middle] = (picture[middle] ?? 0) ^ 0xff
    expect(await refusalOf(picture)).toEqual(damaged)
  })

  test('with fewer pixels than it claims', async () => {
    expect(await refusalOf(aPngThatClaims(3_000, 3_000))).toEqual(damaged)
  })

  test('that is an animated WebP, even if its header does not say so', async () => {
    const frames = await Promise.all([red, blue].map((colour) => aPicture(40, 30, colour).png().toBuffer()))
    const moving = await sharp(frames, { join: { animated: true } })
      .webp()
      .toBuffer()
    expect(await refusalOf(moving)).toEqual(animated)
    const flagsAt = 20
    moving[flagsAt] = 0
    expect(await refusalOf(moving)).toEqual(damaged)
  })

  test('that is an animated PNG', async () => {
    const control = aPngChunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]))
    expect(await refusalOf(withChunk(await aPicture(40, 30).png().toBuffer(), control))).toEqual(animated)
  })

  test.each(['gif', 'tiff', 'avif'] as const)('that is a %s', async (format) => {
    expect(await refusalOf(await aPicture(40, 30).toFormat(format).toBuffer())).toEqual(unsupported)
  })

  test.each([
    ['an SVG', '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="9" height="9"/></svg>'],
    [
      'an SVG with a declaration',
      '<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>',
    ],
    ['a PDF', '%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj'],
    ['a web page', '<!doctype html><img src="picture.png">'],
    ['a PPM in text', 'P3\n1 1\n255\n255 0 0\n'],
    ['nothing', ''],
  ])('that is %s', async (_, text) => {
    expect(await refusalOf(Buffer.from(text))).toEqual(unsupported)
  })
})

test('lets 8 pictures of an owner wait, refuses its next as busy, and still takes those of others', async () => {
  const picture = await aPicture(500, 500).png().toBuffer()
  const given = Array.from({ length: 10 }, () => transformPicture(owner, picture))
  const other = transformPicture('org-b', picture)
  const ends = await Promise.allSettled(given)
  expect(ends.slice(0, 9).every((end) => end.status === 'fulfilled')).toBe(true)
  expect(ends[9]).toMatchObject({ status: 'rejected', reason: { code: 'busy' } })
  expect((await other).bytes.byteLength).toBeGreaterThan(0)
})

test('disables the decoders of other formats in the library itself', async () => {
  const gif = await aPicture(40, 30).gif().toBuffer()
  await expect(sharp(gif).metadata()).rejects.toThrow('unsupported image format')
})
