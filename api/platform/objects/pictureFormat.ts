/** A kind of picture that is accepted. */
export type PictureFormat = 'png' | 'jpeg' | 'webp'

const pngSignature = '\x89PNG\r\n\x1a\n'
const webpAnimationFlag = 0x02

/** The kind that the first bytes say, whatever name or type came with them; undefined where it is none of ours. */
export const pictureFormatOf = (bytes: Uint8Array): PictureFormat | undefined => {
  if (text(bytes, 0, 8) === pngSignature) return 'png'
  if (text(bytes, 0, 3) === '\xff\xd8\xff') return 'jpeg'
  if (text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 4) === 'WEBP') return 'webp'
  return undefined
}

/**
 * Whether the picture says that it moves. It is asked before any decoding: the decoder of PNG shows the first frame and
 * hides the others, and that of WebP takes memory for a whole canvas as soon as there are frames.
 */
export const isAnimated = (bytes: Uint8Array, format: PictureFormat): boolean => {
  if (format === 'png') return hasAnimationChunk(bytes)
  return format === 'webp' && text(bytes, 12, 4) === 'VP8X' && ((bytes[20] ?? 0) & webpAnimationFlag) !== 0
}

/** An animated PNG has an acTL chunk before its first IDAT (PNG third edition, 11.3.6.1). */
const hasAnimationChunk = (bytes: Uint8Array): boolean => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // A chunk is its length, its type, that many bytes, and a sum: each step goes on by 12 bytes at least.
  for (let at = pngSignature.length; at + 8 <= bytes.byteLength; at += view.getUint32(at) + 12) {
    const type = text(bytes, at + 4, 4)
    if (type === 'acTL') return true
    if (type === 'IDAT') return false
  }
  return false
}

const text = (bytes: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(from, from + length))
