import type { Context } from '#api/domain/access/context.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { PictureError, transformPicture } from '#api/platform/objects/picture.ts'

/** The folder of all pictures in the object store. */
export const picturePrefix = 'pictures/'
const filesPath = '/api/files/'

/** The URL path of an object. */
export const filePathOf = (objectName: string): string => filesPath + objectName

/** The object of an upload: the folder is its owner's id, the file name the SHA-256 of its content. */
const objectNameOf = (ownerId: string, sha256: string): string => `${picturePrefix}${ownerId}/${sha256}.webp`

/**
 * Returns the object that a URL names if an upload of this owner made it, else undefined. A pictureUrl is the user's
 * text and may name the object of another owner.
 */
const ownObjectOf = (publicUrl: string, ownerId: string, url: string): string | undefined => {
  const prefix = new URL(filePathOf(picturePrefix), publicUrl).href
  if (!url.startsWith(`${prefix}${ownerId}/`)) return undefined
  const sha256 = /^([0-9a-f]{64})\.webp$/.exec(url.slice(prefix.length + ownerId.length + 1))?.[1]
  return sha256 === undefined ? undefined : objectNameOf(ownerId, sha256)
}

/**
 * Stores an uploaded picture, writes its URL into the owner's row with `save`, and then removes the owner's previous
 * upload. Equal pictures of two owners are two objects.
 */
export const setPicture = async <T>(
  ctx: Context,
  ownerId: string,
  upload: unknown,
  save: (url: string) => Promise<{ answer: T; previous: string | null }>,
): Promise<T> => {
  if (!(upload instanceof Uint8Array)) throw new Error('An upload endpoint gets bytes')
  const { bytes, sha256 } = await transformed(upload)
  const name = objectNameOf(ownerId, sha256)
  await ctx.objects.put(name, bytes, 'image/webp')
  const url = new URL(filePathOf(name), ctx.publicUrl).href
  const { answer, previous } = await save(url)
  if (previous !== url) await removeUpload(ctx, ownerId, previous)
  return answer
}

/**
 * Removes the object that a row's previous pictureUrl names. Objects of other owners stay. The sweep removes an object
 * whose removal fails here.
 */
export const removeUpload = async (ctx: Context, ownerId: string, previousUrl: string | null): Promise<void> => {
  const name = previousUrl === null ? undefined : ownObjectOf(ctx.publicUrl, ownerId, previousUrl)
  if (name === undefined) return
  await ctx.objects.remove(name).catch((error: unknown) => {
    ctx.log.warn({ object: name, err: error }, 'pictures: the previous upload stays until the next sweep')
  })
}

const transformed = async (upload: Uint8Array) => {
  try {
    return await transformPicture(upload)
  } catch (error) {
    if (!(error instanceof PictureError)) throw error
    if (error.code === 'busy') {
      throw new Problem('rate_limited', error.message, { headers: { 'retry-after': '1' } })
    }
    const code = error.code === 'invalid_picture' ? 'invalid_request' : error.code
    throw new Problem(code, error.message, { cause: error })
  }
}
