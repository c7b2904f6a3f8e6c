import type { Context } from '#api/domain/access/context.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { PictureError, transformPicture } from '#api/platform/objects/picture.ts'

/** The name prefix of all pictures in the object store. */
export const picturePrefix = 'pictures/'
const filesPath = '/api/files/'

/** Returns the URL path of an object. */
export const filePathOf = (objectName: string): string => filesPath + objectName

/** Returns the object name of an upload: the owner's id and the SHA-256 of the content. */
const objectNameOf = (ownerId: string, sha256: string): string => `${picturePrefix}${ownerId}/${sha256}.webp`

/**
 * Returns the object name of a URL if it is an upload of this owner, else undefined. Users can set any pictureUrl, also
 * one with the object of another owner.
 */
const ownObjectOf = (publicUrl: string, ownerId: string, url: string): string | undefined => {
  const prefix = new URL(filePathOf(picturePrefix), publicUrl).href
  if (!url.startsWith(`${prefix}${ownerId}/`)) return undefined
  const sha256 = /^([0-9a-f]{64})\.webp$/.exec(url.slice(prefix.length + ownerId.length + 1))?.[1]
  return sha256 === undefined ? undefined : objectNameOf(ownerId, sha256)
}

/**
 * Stores an uploaded picture, writes its URL to the owner's row with `save`, and then removes the owner's previous
 * upload. Equal pictures of two owners are separate objects.
 */
export const setPicture = async <T>(
  ctx: Context,
  ownerId: string,
  upload: unknown,
  save: (url: string) => Promise<{ answer: T; previous: string | null }>,
): Promise<T> => {
  if (!(upload instanceof Uint8Array))
    throw new Error('The upload is not a Uint8Array. Set upload: true on the endpoint.')
  const { bytes, sha256 } = await transformUpload(ctx.organizationId, upload)
  const name = objectNameOf(ownerId, sha256)
  await ctx.objects.put(name, bytes, 'image/webp')
  const url = new URL(filePathOf(name), ctx.publicUrl).href
  const { answer, previous } = await save(url)
  if (previous !== url) await removeUpload(ctx, ownerId, previous)
  return answer
}

/**
 * Removes the object of a row's previous pictureUrl. Objects of other owners stay. If the removal fails, it is logged,
 * and the cleanup removes the object later.
 */
export const removeUpload = async (ctx: Context, ownerId: string, previousUrl: string | null): Promise<void> => {
  const name = previousUrl === null ? undefined : ownObjectOf(ctx.publicUrl, ownerId, previousUrl)
  if (name === undefined) return
  await ctx.objects.remove(name).catch((error: unknown) => {
    ctx.log.warn({ object: name, err: error }, 'removing the previous picture failed; the cleanup will remove it')
  })
}

const transformUpload = async (organizationId: string, upload: Uint8Array) => {
  try {
    return await transformPicture(organizationId, upload)
  } catch (error) {
    if (!(error instanceof PictureError)) throw error
    if (error.code === 'busy') {
      throw new Problem('rate_limited', error.message, { headers: { 'retry-after': '1' } })
    }
    const code = error.code === 'invalid_picture' ? 'invalid_request' : error.code
    throw new Problem(code, error.message, { cause: error })
  }
}
