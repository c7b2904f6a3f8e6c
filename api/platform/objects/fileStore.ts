import { randomUUID } from 'node:crypto'
import { lstat, mkdir, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ObjectStoreError } from './errors.ts'
import { checkListLimit, checkObject, contentTypeOf, isObjectFolder, isObjectName, maxObjectBytes } from './names.ts'
import type { ListedObject, ListOptions, ObjectStore } from './store.ts'

/** The folder for temporary files, which are renamed when complete. No object name begins with a dot. */
const temporaryFolder = '.aside'

/**
 * Opens a store that keeps objects as files in the folder of a `file:///` URL. It creates the folder if needed, and throws
 * if it cannot write there. Processes may share the folder. Files that a killed process left in `.aside` can be deleted.
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
      const bytes = await attempt(`get ${name}`, () => undefinedIfAbsent(readBounded(join(dir, name), name)))
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
    // The URL is not a path of this system; the error below says so.
  }
  throw new Error('The URL of a file object store must be file:///folder, without host and query.')
}

const checkWritable = async (dir: string): Promise<void> => {
  const probe = join(dir, temporaryFolder, randomUUID())
  try {
    await mkdir(dirname(probe), { recursive: true })
    await writeFile(probe, '')
    await rm(probe)
  } catch (error) {
    throw new Error(`The object store cannot write to ${dir} (${codeOf(error)}). Set a writable folder.`)
  }
}

/** Writes to a temporary file, flushes it to disk and renames it, so that no reader sees a partial object. */
const putFile = async (dir: string, name: string, bytes: Uint8Array): Promise<void> => {
  const path = join(dir, name)
  const temporary = join(dir, temporaryFolder, randomUUID())
  for (const file of [path, temporary]) await mkdir(dirname(file), { recursive: true })
  try {
    await writeFile(temporary, bytes, { flag: 'wx', flush: true })
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

const readBounded = async (path: string, name: string): Promise<Uint8Array> => {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    if (size > maxObjectBytes) throw new ObjectStoreError(`get ${name}`, `it exceeds ${maxObjectBytes} bytes`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

const listFiles = async (dir: string, options: ListOptions): Promise<ListedObject[]> => {
  const found: ListedObject[] = []
  for await (const name of walk(dir, '', options)) {
    const stats = await undefinedIfAbsent(lstat(join(dir, name)))
    if (stats !== undefined) found.push({ name, modifiedAt: stats.mtime })
    if (found.length === options.limit) break
  }
  return found
}

/** Yields the object names below a folder in byte order. Folders sort with their slash, so the order is that of full names. */
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

const undefinedIfAbsent = async <T>(operation: Promise<T>): Promise<T | undefined> => {
  try {
    return await operation
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Converts errors. The message of a system error contains local paths, so only its code is kept. */
const attempt = async <T>(operation: string, action: () => Promise<T>): Promise<T> => {
  try {
    return await action()
  } catch (error) {
    throw error instanceof ObjectStoreError ? error : new ObjectStoreError(operation, codeOf(error))
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : error instanceof Error ? error.message : 'unknown'
