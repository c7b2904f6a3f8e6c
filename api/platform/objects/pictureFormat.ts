/** The picture formats that uploads may have. */
export type PictureFormat = 'png' | 'jpeg' | 'webp'

const pngSignature = '\x89PNG\r\n\x1a\n'
const webpAnimationFlag = 0x02

/** Returns the format by the first bytes, or undefined for other formats. */
export const pictureFormatOf = (bytes: Uint8Array): PictureFormat | undefined => {
  if (text(bytes, 0, 8) === pngSignature) return 'png'
  if (text(bytes, 0, 3) === '\xff\xd8\xff') return 'jpeg'
  if (text(bytes, 0, 4) === 'RIFF' && text(bytes, 8, 4) === 'WEBP') return 'webp'
  return undefined
}

/**
 * Reports whether the picture is animated. Call it before decoding: the PNG decoder silently uses the first frame, and the
 * WebP decoder allocates a whole canvas for an animation.
 */
export const isAnimated = (bytes: Uint8Array, format: PictureFormat): boolean => {
  if (format === 'png') return hasAnimationChunk(bytes)
  return format === 'webp' && text(bytes, 12, 4) === 'VP8X' && ((bytes[20] ?? 0) & webpAnimationFlag) !== 0
}

/** An animated PNG has an acTL chunk before its first IDAT (PNG third edition, 11.3.6.1). */
const hasAnimationChunk = (bytes: Uint8Array): boolean => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  // A chunk has a length, a type, that many bytes and a checksum, so each step advances by at least 12 bytes.
  for (let at = pngSignature.length; at + 8 <= bytes.byteLength; at += view.getUint32(at) + 12) {
    const type = text(bytes, at + 4, 4)
    if (type === 'acTL') return true
    if (type === 'IDAT') return false
  }
  return false
}

const text = (bytes: Uint8Array, from: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(from, from + length))
