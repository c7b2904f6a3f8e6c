/** The largest object in bytes, for writing and reading. */
export const maxObjectBytes = 32 * 1024 * 1024

/** The highest number of names per page of a list. */
export const maxListLimit = 1_000

// Folder names have no dot and file names have one, so a name cannot leave the store, be hidden, or clash with a folder.
const folder = '[a-z0-9][a-z0-9_-]{0,127}'
const pattern = new RegExp(`^(?=.{1,512}$)(${folder}/){0,8}[a-z0-9][a-z0-9_-]{0,199}\\.([a-z0-9]{1,8})$`)
const folderPattern = new RegExp(`^(${folder}/){1,8}$`)

const contentTypes = new Map([['webp', 'image/webp']])

/** Reports whether the name is valid: `folder/file.webp` of a-z, 0-9, - and _, with at most 512 characters. */
export const isObjectName = (name: string): boolean => contentTypeIn(name) !== undefined

/** Reports whether an object name may begin with this folder. The folder ends with a slash. */
export const isObjectFolder = (name: string): boolean => folderPattern.test(name)

/** Returns the content type for an object name, by its extension. Throws if the name is invalid. */
export const contentTypeOf = (name: string): string => {
  const found = contentTypeIn(name)
  if (found !== undefined) return found
  const extensions = [...contentTypes.keys()].map((extension) => `.${extension}`).join(', ')
  throw new Error(
    `${JSON.stringify(name)} is not a valid object name. Use folder/file of a-z, 0-9, - and _, with ${extensions}.`,
  )
}

/** Throws if the name is invalid, the content type does not match its extension, or the object is too large. */
export const checkObject = (name: string, bytes: Uint8Array, contentType: string): void => {
  const expected = contentTypeOf(name)
  if (contentType !== expected) throw new Error(`${name} must have the content type ${expected}, not ${contentType}.`)
  if (bytes.byteLength > maxObjectBytes) throw new Error(`${name} is too large. The limit is ${maxObjectBytes} bytes.`)
}

/** Throws if the limit of a list is not between 1 and `maxListLimit`. */
export const checkListLimit = (limit: number): void => {
  if (Number.isInteger(limit) && limit >= 1 && limit <= maxListLimit) return
  throw new Error(`Invalid list limit ${limit}. Use 1 to ${maxListLimit}.`)
}

const contentTypeIn = (name: string): string | undefined => contentTypes.get(pattern.exec(name)?.[2] ?? '')
