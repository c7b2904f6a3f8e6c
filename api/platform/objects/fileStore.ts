import { randomUUID } from 'node:crypto'
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ObjectStoreError } from './errors.ts'
import { checkListLimit, checkObject, contentTypeOf, isObjectFolder, isObjectName, maxObjectBytes } from './names.ts'
import type { ListedObject, ListOptions, ObjectStore } from './store.ts'

/** Where objects are written before they are renamed; no object's name begins with a dot. */
const asideFolder = '.aside'

/**
 * Keeps objects as files below the folder of a `file:///` URL, which is made where it is absent. It throws where the
 * folder cannot be written. Processes may share the folder. What a killed process left in `.aside` may be deleted.
 */
export const openFileStore = async (url: URL): Promise<ObjectStore> => {
  const dir = folderOf(url)
  await checkWritable(dir)
  return {
    put: async (name, bytes, contentType) => {
      checkObject(name, bytes, contentType)
      await attempt(`put ${name}`, () => putFile(dir, name, bytes))
    },
    get: async (name) => {
      const contentType = contentTypeOf(name)
      const bytes = await attempt(`get ${name}`, () => absentIsUndefined(readBounded(join(dir, name), name)))
      return bytes === undefined ? undefined : { bytes, contentType }
    },
    remove: async (name) => {
      contentTypeOf(name)
      await attempt(`remove ${name}`, () => rm(join(dir, name), { force: true }))
    },
    list: async (options) => {
      checkListLimit(options.limit)
      return attempt('list', () => listFiles(dir, options))
    },
  }
}

const folderOf = (url: URL): string => {
  try {
    if (url.host === '' && url.search === '' && url.hash === '') return fileURLToPath(url)
  } catch {
    // Told below: it is no path of this system.
  }
  throw new Error('The URL of an object store in files must be file:///folder, without a host or a query')
}

const checkWritable = async (dir: string): Promise<void> => {
  const probe = join(dir, asideFolder, randomUUID())
  try {
    await mkdir(dirname(probe), { recursive: true })
    await writeFile(probe, '')
    await rm(probe)
  } catch (error) {
    throw new Error(`The object store cannot write into ${dir} (${codeOf(error)}): give a folder that it may write`)
  }
}

/** Written aside and renamed, so that nobody sees a part of it, and on the disk before it has its name. */
const putFile = async (dir: string, name: string, bytes: Uint8Array): Promise<void> => {
  const path = join(dir, name)
  const aside = join(dir, asideFolder, randomUUID())
  for (const file of [path, aside]) await mkdir(dirname(file), { recursive: true })
  try {
    await writeFile(aside, bytes, { flag: 'wx', flush: true })
    await rename(aside, path)
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
}

const readBounded = async (path: string, name: string): Promise<Uint8Array> => {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > maxObjectBytes) throw new ObjectStoreError(`get ${name}`, `it has over ${maxObjectBytes} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

const listFiles = async (dir: string, options: ListOptions): Promise<ListedObject[]> => {
  const found: ListedObject[] = []
  for await (const name of walk(dir, '', options)) {
    const stats = await absentIsUndefined(lstat(join(dir, name)))
    if (stats !== undefined) found.push({ name, modifiedAt: stats.mtime })
    if (found.length === options.limit) break
  }
  return found
}

/** The names below a folder in their order. A folder sorts with its slash, so that the order is that of whole names. */
async function* walk(dir: string, folder: string, options: ListOptions): AsyncGenerator<string> {
  const { prefix, after = '' } = options
  const entries = await readdir(join(dir, folder), { withFileTypes: true })
  const names = entries.map((entry) => `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`)
  const files = new Set(entries.filter((entry) => entry.isFile()).map((entry) => `${folder}${entry.name}`))
  for (const name of names.sort(byBytes)) {
    if (isObjectFolder(name)) {
      const hasPrefix = name.startsWith(prefix) || prefix.startsWith(name)
      if (hasPrefix && (name > after || after.startsWith(name))) yield* walk(dir, name, options)
    } else if (files.has(name) && isObjectName(name) && name.startsWith(prefix) && name > after) yield name
  }
}

const byBytes = (a: string, b: string): number => Number(a > b) - Number(a < b)

const absentIsUndefined = async <T>(answer: Promise<T>): Promise<T | undefined> => {
  try {
    return await answer
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** The system's own error names paths of this machine; its code says as much. */
const attempt = async <T>(operation: string, action: () => Promise<T>): Promise<T> => {
  try {
    return await action()
  } catch (error) {
    throw error instanceof ObjectStoreError ? error : new ObjectStoreError(operation, codeOf(error))
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.message : 'unknown'
