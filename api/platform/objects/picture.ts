import { createHash } from 'node:crypto'
import sharp, { type SharpOptions } from 'sharp'
import { type Crowd, createTurns, type TurnLimits } from '#shared/turns.ts'
import { isAnimated, pictureFormatOf } from './pictureFormat.ts'

const maxPixels = 16_000_000
const maxSide = 1_024
const quality = 82
const timeoutSeconds = 20
/**
 * Pictures up to 1 megapixel, which take at most 0.3 s, do not wait for larger ones. The worst picture (16 megapixels, 16 bits,
 * interlaced) takes 175 MB for four seconds. Both decode in threads of libuv, and leave two of the four for other work.
 */
const maxSmallPixels = maxSide * maxSide
const limits: TurnLimits = { slots: 1, reserve: 0, maxWaiting: 64, maxWaitingOfOne: 8 }

// Nothing of one tenant's picture stays in memory for the next, and each picture uses at most one core.
sharp.cache(false)
sharp.concurrency(1)
// All other decoders are disabled in this process, in addition to the format check below.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})

const runSmall = createTurns('pictures', limits)
const runLarge = createTurns('large pictures', limits)

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
 * in sRGB and without metadata. The content determines the format. Equal input gives equal output. One small and one large
 * conversion run at a time. Owners, such as organizations, take turns. Throws a `PictureError` for a refused picture.
 */
export const transformPicture = async (owner: string, bytes: Uint8Array): Promise<Picture> => {
  checkKind(bytes)
  const small = await runSmall(owner, async () => ((await isLarge(bytes)) ? undefined : encode(bytes)), tooMany)
  const webp = small ?? (await runLarge(owner, () => encode(bytes), tooMany))
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

const tooMany = (crowd: Crowd): PictureError => {
  const whose = crowd === 'owner' ? ' of this organization' : ''
  return new PictureError('busy', `Too many pictures${whose} are being processed. Retry in a few seconds.`)
}

/** Reads the header of a picture. */
const isLarge = async (bytes: Uint8Array): Promise<boolean> => {
  try {
    const { width, height } = await sharp(bytes, input).metadata()
    return width * height > maxSmallPixels
  } catch (error) {
    throw refusalOf(error)
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
