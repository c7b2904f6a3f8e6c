import { type BodyReader, maxUploadBytes, multipartOverheadBytes, readBytes } from './body.ts'
import { Problem } from './problem.ts'

/** The content types of a raw picture body. */
export const pictureTypes = ['image/png', 'image/jpeg', 'image/webp'] as const

/**
 * Reads the file of an upload: the raw body, or the single file part of `multipart/form-data`. The format is determined
 * later from the content; the declared type is not trusted.
 */
export const readPicture = async (request: Request, body: BodyReader): Promise<Buffer> => {
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (pictureTypes.some((each) => each === type)) return notEmpty(await readBytes(request, maxUploadBytes, body))
  if (type !== 'multipart/form-data') {
    const message = `Send the picture as ${pictureTypes.join(', ')}, or as the only file of multipart/form-data.`
    throw new Problem('unsupported_media_type', message)
  }
  const bytes = await readBytes(request, maxUploadBytes + multipartOverheadBytes, body)
  const file = await onlyFile(bytes, request.headers.get('content-type') ?? '')
  if (file.size > maxUploadBytes) {
    throw new Problem('body_too_large', `The picture is too large. The limit is ${maxUploadBytes} bytes.`)
  }
  return notEmpty(Buffer.from(await file.arrayBuffer()))
}

/** The maximum number of parts, although only one file is used. Parsing takes time for each part. */
const maxParts = 16

const onlyFile = async (bytes: Buffer, contentType: string): Promise<File> => {
  refuseManyParts(bytes, contentType)
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

/** Counts the delimiters of the parts. The last one ends the body. */
const refuseManyParts = (bytes: Buffer, contentType: string): void => {
  const [, quoted, plain] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined)
    throw new Problem('invalid_request', 'The Content-Type has no boundary. Send multipart/form-data; boundary=….')
  const delimiter = `--${boundary}`
  let parts = -1
  for (let at = bytes.indexOf(delimiter); at >= 0; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    parts += 1
    if (parts > maxParts) {
      throw new Problem('invalid_request', `The multipart body has more than ${maxParts} parts. Send one file.`)
    }
  }
}

const notEmpty = (bytes: Buffer): Buffer => {
  if (bytes.length === 0) throw new Problem('invalid_request', 'The picture is empty.')
  return bytes
}
