import { createHash } from 'node:crypto'
import sharp, { type SharpOptions } from 'sharp'
import { isAnimated, pictureFormatOf } from './pictureFormat.ts'
import { createTurns } from './turns.ts'

const maxPixels = 16_000_000
const maxSide = 1_024
const quality = 82
const timeoutSeconds = 20
/** Two of the worst (16 megapixels, 16 bits, interlaced) take 350 MB together for four seconds; usual ones take 40. */
const atOnce = 2
const waiting = 16

// Nothing of one tenant's picture is kept for the next, and no picture takes more than one core.
sharp.cache(false)
sharp.concurrency(1)
// Whatever the checks below miss, the decoders of all other formats stay shut in this process.
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})

const takeTurn = createTurns({ atOnce, waiting })

const input: SharpOptions = {
  autoOrient: true,
  // A stricter level refuses what cameras write: some phones' JPEGs have parameters that the decoder warns of.
  failOn: 'error',
  limitInputPixels: maxPixels,
}

/** Why a picture is refused: of the wrong kind, unusable, or too many others are at work. */
export type PictureErrorCode = 'unsupported_media_type' | 'invalid_picture' | 'busy'

/** A refusal, with a message for the sender that says what would be right. */
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
 * Makes a clean WebP of a still PNG, JPEG or WebP of at most 16 megapixels: turned upright, fitted inside 1024 by 1024
 * without enlarging it, in sRGB, and without metadata or anything else than its pixels. The content alone decides what
 * it is. The same bytes give the same picture. Two are made at a time and 16 wait; what is refused is a `PictureError`.
 */
export const transformPicture = async (bytes: Uint8Array): Promise<Picture> => {
  checkKind(bytes)
  const made = takeTurn(() => encode(bytes))
  if (made === undefined) throw new PictureError('busy', 'Too many pictures are being read; try again in some seconds.')
  const webp = await made
  return { bytes: webp, sha256: createHash('sha256').update(webp).digest('hex') }
}

const checkKind = (bytes: Uint8Array): void => {
  const format = pictureFormatOf(bytes)
  if (format === undefined) {
    throw new PictureError('unsupported_media_type', 'The picture must be a PNG, a JPEG or a WebP, by its content.')
  }
  if (isAnimated(bytes, format)) {
    throw new PictureError('invalid_picture', 'The picture moves: give a still one, without frames.')
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

/** The library tells its errors apart by their text alone. */
const refusalOf = (error: unknown): PictureError => {
  const text = error instanceof Error ? error.message : String(error)
  if (text.includes('pixel limit')) {
    return new PictureError('invalid_picture', `The picture must have at most ${maxPixels / 1e6} megapixels.`, error)
  }
  if (text.startsWith('timeout')) {
    return new PictureError(
      'invalid_picture',
      `The picture takes over ${timeoutSeconds} s to read: simplify it.`,
      error,
    )
  }
  return new PictureError('invalid_picture', 'The picture is truncated or damaged: export it anew.', error)
}
