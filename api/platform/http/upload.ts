import { maxUploadBytes, multipartOverheadBytes, readBytes } from './body.ts'
import { Problem } from './problem.ts'

/** The types in which a picture may be sent as the body itself. */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const

/**
 * Reads the one file of an upload: the body itself, or the one file part of `multipart/form-data`. What the bytes are is
 * found out later, from the bytes; a declared type is only what a client says.
 */
export const readPicture = async (request: Request): Promise<Buffer> => {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (pictureTypes.some((each) => each === type)) return notEmpty(await readBytes(request, maxUploadBytes))
  if (type !== 'multipart/form-data') {
    const message = `Send the picture as ${pictureTypes.join(', ')}, or as the one file of multipart/form-data.`
    throw new Problem('unsupported_media_type', message)
  }
  const bytes = await readBytes(request, maxUploadBytes + multipartOverheadBytes)
  const file = await onlyFile(bytes, request.headers.get('content-type') ?? '')
  if (file.size > maxUploadBytes) {
    throw new Problem('body_too_large', `A picture has at most ${maxUploadBytes} bytes.`)
  }
  return notEmpty(Buffer.from(await file.arrayBuffer()))
}

const onlyFile = async (bytes: Buffer, contentType: string): Promise<File> => {
  const form = await new Response(bytes, { headers: { 'content-type': contentType } })
    .formData()
    .catch((cause: unknown) => {
      throw new Problem('invalid_request', 'The body is not the multipart/form-data that its type says.', { cause })
    })
  const files = [...form.values()].filter((value) => value instanceof File)
  const [file] = files
  if (file === undefined || files.length > 1) {
    throw new Problem('invalid_request', `A multipart body has exactly one file here, and this has ${files.length}.`)
  }
  return file
}

const notEmpty = (bytes: Buffer): Buffer => {
  if (bytes.length === 0) throw new Problem('invalid_request', 'The picture is empty.')
  return bytes
}
