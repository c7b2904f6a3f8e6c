/** The largest object, both when it is put and when it is read. */
export const maxObjectBytes = 32 * 1024 * 1024

/** The most names of one page of a list. */
export const maxListLimit = 1_000

// A folder has no dot and a file has one: no name leaves the folder, is hidden, or is a folder of another name.
const folder = '[a-z0-9][a-z0-9_-]{0,127}'
const pattern = new RegExp(`^(?=.{1,512}$)(${folder}/){0,8}[a-z0-9][a-z0-9_-]{0,199}\\.([a-z0-9]{1,8})$`)
const folderPattern = new RegExp(`^(${folder}/){1,8}$`)

const contentTypes = new Map([['webp', 'image/webp']])

/** Whether an object may be named so: `folder/file.webp`, of a-z, 0-9, - and _, and at most 512 characters. */
export const isObjectName = (name: string): boolean => contentTypeIn(name) !== undefined

/** Whether an object's name may begin with this folder, which ends with a slash. */
export const isObjectFolder = (name: string): boolean => folderPattern.test(name)

/** The content type of an object, which its name alone decides; throws where no object may be named so. */
export const contentTypeOf = (name: string): string => {
  const found = contentTypeIn(name)
  if (found !== undefined) return found
  const extensions = [...contentTypes.keys()].map((extension) => `.${extension}`).join(', ')
  throw new Error(
    `${JSON.stringify(name)} is no object's name: use folder/file of a-z, 0-9, - and _, with ${extensions}`,
  )
}

/** Throws unless this may be put: a good name, the content type that its extension says, and not too large. */
export const checkObject = (name: string, bytes: Uint8Array, contentType: string): void => {
  const expected = contentTypeOf(name)
  if (contentType !== expected) throw new Error(`${name} must have the content type ${expected}, not ${contentType}`)
  if (bytes.byteLength > maxObjectBytes) throw new Error(`${name} is too large: at most ${maxObjectBytes} bytes`)
}

/** Throws unless a page of a list may have so many names. */
export const checkListLimit = (limit: number): void => {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxListLimit) return
  throw new Error(`${limit} is no limit of a list: use 1 to ${maxListLimit}`)
}

const contentTypeIn = (name: string): string | undefined => contentTypes.get(pattern.exec(name)?.[2] ?? '')
