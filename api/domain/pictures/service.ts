import type { Context } from '#api/domain/access/context.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { PictureError, transformPicture } from '#api/platform/objects/picture.ts'

/** Where pictures lie in the object store; behind it come the owner's id and the hash of the content. */
export const picturePrefix = 'pictures/'
const filesPath = '/api/files/'

/** The address of an object, as rows and answers have it. */
const urlOf = (publicUrl: string, name: string): string => new URL(filesPath + name, publicUrl).href

/** The object that an address of ours names; undefined for the addresses of others. */
export const objectNameOf = (publicUrl: string, url: string): string | undefined => {
  const prefix = urlOf(publicUrl, '')
  return url.startsWith(prefix) ? url.slice(prefix.length) : undefined
}

/**
 * Stores an uploaded picture and lets `save` put its address into a row; the picture before it goes afterwards. The name
 * has the owner's id, so that equal pictures of two owners are two objects and one can go without the other.
 */
export const setPicture = async <T>(
  ctx: Context,
  ownerId: string,
  upload: unknown,
  save: (url: string) => Promise<{ answer: T; previous: string | null }>,
): Promise<T> => {
  if (!(upload instanceof Uint8Array)) throw new Error('An upload endpoint gets bytes')
  const { bytes, sha256 } = await transformed(upload)
  const name = `${picturePrefix}${ownerId}/${sha256}.webp`
  await ctx.objects.put(name, bytes, 'image/webp')
  const { answer, previous } = await save(urlOf(ctx.publicUrl, name))
  await removeOld(ctx, previous, name)
  return answer
}

/** Removes the object behind an address that a row no longer has; the sweep finds what could not be removed now. */
export const removeOld = async (ctx: Context, previousUrl: string | null, keptName?: string): Promise<void> => {
  const name = previousUrl === null ? undefined : objectNameOf(ctx.publicUrl, previousUrl)
  if (name === undefined || name === keptName) return
  await ctx.objects.remove(name).catch((error: unknown) => {
    ctx.log.warn({ object: name, err: error }, 'pictures: the old one stays until the next sweep')
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
