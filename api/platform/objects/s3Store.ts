import { addAbortSignal, Readable } from 'node:stream'
import {
  DeleteObjectCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3'
import { withDefined } from '#shared/optional.ts'
import { ObjectStoreError } from './errors.ts'
import { checkListLimit, checkObject, contentTypeOf, isObjectName, maxListLimit, maxObjectBytes } from './names.ts'
import { parseS3Url, type S3Location } from './s3Url.ts'
import type { ListedObject, ListOptions, ObjectStore } from './store.ts'

const connectTimeoutMs = 5_000
const requestTimeoutMs = 15_000
const maxAttempts = 3
/** The timeout of a call with all its attempts, delays and the body. */
const callTimeoutMs = 60_000
/** The limit of pages per list call. A prefix with more pages of foreign objects is shared by mistake. */
const maxPages = 20
const cacheControl = 'public, max-age=31536000, immutable'

/**
 * Opens a store in an existing bucket of S3 or an S3-compatible server. The account needs s3:PutObject, GetObject,
 * DeleteObject and ListBucket. Without ListBucket, S3 returns 403 for absent objects.
 */
export const openS3Store = async (url: URL): Promise<ObjectStore> => {
  const location = parseS3Url(url)
  const client = await openClient(location)
  const at = (name: string) => ({ Bucket: location.bucket, Key: location.prefix + name })
  return {
    put: async (name, bytes, contentType) => {
      checkObject(name, bytes, contentType)
      const command = { ...at(name), Body: bytes, ContentType: contentType, CacheControl: cacheControl }
      await call(`put ${name}`, (options) => client.send(new PutObjectCommand(command), options))
    },
    get: async (name) => {
      const contentType = contentTypeOf(name)
      const bytes = await call(`get ${name}`, async (options) => {
        const answer = client.send(new GetObjectCommand(at(name)), options)
        const found = await answer.catch(undefinedIfAbsent)
        return found === undefined ? undefined : readBounded(found.Body, name, options.abortSignal)
      })
      return bytes === undefined ? undefined : { bytes, contentType }
    },
    remove: async (name) => {
      contentTypeOf(name)
      await call(`remove ${name}`, (options) =>
        client.send(new DeleteObjectCommand(at(name)), options).catch(undefinedIfAbsent),
      )
    },
    list: async (options) => {
      checkListLimit(options.limit)
      return listObjects(client, location, options)
    },
  }
}

const openClient = async ({ endpoint, region }: S3Location): Promise<S3Client> => {
  const client = new S3Client({
    forcePathStyle: true,
    // S3-compatible servers may not support the newer checksums.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: requestTimeoutMs,
    },
    ...withDefined({ endpoint }),
    ...withDefined({ region }),
  })
  try {
    await client.config.region()
  } catch {
    throw new Error('The object store has no region. Set it in the URL (region=us-east-1) or in AWS_REGION.')
  }
  return client
}

const listObjects = async (client: S3Client, location: S3Location, options: ListOptions): Promise<ListedObject[]> => {
  const found: ListedObject[] = []
  let after = options.after === undefined ? undefined : location.prefix + options.after
  for (let page = 0; page < maxPages; page += 1) {
    const command = new ListObjectsV2Command({
      Bucket: location.bucket,
      Prefix: location.prefix + options.prefix,
      MaxKeys: page === 0 ? options.limit : maxListLimit,
      ...withDefined({ StartAfter: after }),
    })
    const { Contents = [], IsTruncated } = await call('list', (sending) => client.send(command, sending))
    for (const { Key = '', LastModified } of Contents) {
      after = Key
      const name = Key.slice(location.prefix.length)
      if (LastModified !== undefined && isObjectName(name)) found.push({ name, modifiedAt: LastModified })
      if (found.length === options.limit) return found
    }
    if (IsTruncated !== true) return found
  }
  throw new ObjectStoreError('list', `too many other objects under ${location.prefix}${options.prefix}`)
}

const readBounded = async (body: unknown, name: string, signal: AbortSignal): Promise<Uint8Array> => {
  if (!(body instanceof Readable)) throw new Error('The response has no body.')
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of addAbortSignal(signal, body)) {
    size += chunk.byteLength
    if (size > maxObjectBytes) throw new ObjectStoreError(`get ${name}`, `it exceeds ${maxObjectBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks, size)
}

const undefinedIfAbsent = (error: unknown): undefined => {
  if (error instanceof NoSuchKey) return undefined
  throw error
}

const call = async <T>(operation: string, send: (options: { abortSignal: AbortSignal }) => Promise<T>): Promise<T> => {
  const abortSignal = AbortSignal.timeout(callTimeoutMs)
  try {
    return await send({ abortSignal })
  } catch (error) {
    if (error instanceof ObjectStoreError) throw error
    throw new ObjectStoreError(operation, abortSignal.aborted ? `no response in ${callTimeoutMs} ms` : reasonOf(error))
  }
}

/** Returns only the code and status of an error, since the error of the client contains the signed request. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  const { code, $metadata } = error as { code?: unknown; $metadata?: { httpStatusCode?: number } }
  const status = $metadata?.httpStatusCode
  const word = typeof code === 'string' ? code : error.name
  return `${/^\w{1,64}$/.test(word) ? word : 'unknown'}${status === undefined ? '' : ` (${status})`}`
}
