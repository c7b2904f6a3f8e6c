import { createHash } from 'node:crypto'
import sharp, { type SharpOptions } from 'sharp'
import { isAnimated, pictureFormatOf } from './pictureFormat.ts'
import { createTurns } from './turns.ts'

const maxPixels = 16_000_000
const maxSide = 1_024
const quality = 82
const timeoutSeconds = 20
/** Two worst-case pictures (16 megapixels, 16 bits, interlaced) take 350 MB for four seconds; typical ones take 40 MB. */
const maxConcurrent = 2
const maxQueued = 16

// Nothing of one tenant's picture stays in memory for the next, and each picture uses at most one core.
sharp.cache(false)
sharp.concurrency(1)
// All other decoders are disabled in this process, in addition to the format check below.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})

const enqueue = createTurns({ maxConcurrent, maxQueued })

const input: SharpOptions = {
  autoOrient: true,
  // A stricter level would refuse JPEGs of some phones, for which the decoder prints warnings.
  failOn: 'error',
  limitInputPixels: maxPixels,
}

/** The reason of a refusal: wrong format, unusable content, or too many pictures in the queue. */
export type PictureErrorCode = 'unsupported_media_type' | 'invalid_picture' | 'busy'

/** A refused picture. The message is for the sender. */
export class PictureError extends Error {
  override name = 'PictureError'
  readonly code: PictureErrorCode

  constructor(code: PictureErrorCode, message: string, cause?: unknown) {
    super(message, { cause })
    this.code = code
  }
}

/** A WebP of at most 1024 by 1024 pixels, and the SHA-256 of its bytes in hexadecimal. */
export type Picture = { readonly bytes: Uint8Array; readonly sha256: string }

/**
 * Converts a still PNG, JPEG or WebP of at most 16 megapixels to a WebP: rotated upright, scaled down to fit 1024 by 1024,
 * in sRGB and without metadata. The content determines the format. Equal input gives equal output. Two conversions run at
 * a time and 16 are queued. Throws a `PictureError` for a refused picture.
 */
export const transformPicture = async (bytes: Uint8Array): Promise<Picture> => {
  checkKind(bytes)
  const made = enqueue(() => encode(bytes))
  if (made === undefined)
    throw new PictureError('busy', 'Too many pictures are being processed. Retry in a few seconds.')
  const webp = await made
  return { bytes: webp, sha256: createHash('sha256').update(webp).digest('hex') }
}

const checkKind = (bytes: Uint8Array): void => {
  const format = pictureFormatOf(bytes)
  if (format === undefined) {
    throw new PictureError('unsupported_media_type', 'The content of the picture must be PNG, JPEG or WebP.')
  }
  if (isAnimated(bytes, format)) {
    throw new PictureError('invalid_picture', 'The picture is animated. Send a still picture.')
  }
}

const encode = async (bytes: Uint8Array): Promise<Uint8Array> => {
  try {
    return await sharp(bytes, input)
      .resize({ width: maxSide, height: maxSide, fit: 'inside', withoutEnlargement: true })
      .webp({ quality })
      .timeout({ seconds: timeoutSeconds })
      .toBuffer()
  } catch (error) {
    throw refusalOf(error)
  }
}

/** Classifies errors of the library by their text, since they have no codes. */
const refusalOf = (error: unknown): PictureError => {
  const text = error instanceof Error ? error.message : String(error)
  if (text.includes('pixel limit')) {
    return new PictureError('invalid_picture', `The picture must have at most ${maxPixels / 1e6} megapixels.`, error)
  }
  if (text.startsWith('timeout')) {
    return new PictureError(
      'invalid_picture',
      `Decoding the picture takes more than ${timeoutSeconds} s. Simplify it.`,
      error,
    )
  }
  return new PictureError('invalid_picture', 'The picture is truncated or damaged. Export it again.', error)
}
