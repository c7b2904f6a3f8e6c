import { maxUploadBytes, multipartOverheadBytes, readBytes } from './body.ts'
import { Problem } from './problem.ts'

/** The content types of a raw picture body. */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const

/**
 * Reads the file of an upload: the raw body, or the single file part of `multipart/form-data`. The format is determined
 * later from the content; the declared type is not trusted.
 */
export const readPicture = async (request: Request): Promise<Buffer> => {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (pictureTypes.some((each) => each === type)) return notEmpty(await readBytes(request, maxUploadBytes))
  if (type !== 'multipart/form-data') {
    const message = `Send the picture as ${pictureTypes.join(', ')}, or as the only file of multipart/form-data.`
    throw new Problem('unsupported_media_type', message)
  }
  const bytes = await readBytes(request, maxUploadBytes + multipartOverheadBytes)
  const file = await onlyFile(bytes, request.headers.get('content-type') ?? '')
  if (file.size > maxUploadBytes) {
    throw new Problem('body_too_large', `The picture is too large. The limit is ${maxUploadBytes} bytes.`)
  }
  return notEmpty(Buffer.from(await file.arrayBuffer()))
}

const onlyFile = async (bytes: Buffer, contentType: string): Promise<File> => {
  const form = await new Response(bytes, { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new Problem('invalid_request', 'The body is not valid multipart/form-data.', { cause })
    })
  const files = [...form.values()].filter((value) => value instanceof File)
  const [file] = files
  if (file === undefined || files.length > 1) {
    throw new Problem('invalid_request', `The multipart body must contain one file; it contains ${files.length}.`)
  }
  return file
}

const notEmpty = (bytes: Buffer): Buffer => {
  if (bytes.length === 0) throw new Problem('invalid_request', 'The picture is empty.')
  return bytes
}
