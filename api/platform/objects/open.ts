import { openFileStore } from './fileStore.ts'
import type { ObjectStore } from './store.ts'

/**
 * Opens the store at a URL: `file:///folder`, or
 * `s3://bucket?endpoint=http://127.0.0.1:9000&region=us-east-1&prefix=folder/` with the credentials of the AWS
 * environment. Throws if the URL is invalid or the folder is not writable. It does not check that S3 is reachable.
 */
export const openObjectStore = async (url: string): Promise<ObjectStore> => {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'file:') return openFileStore(parsed)
  if (parsed?.protocol === 's3:') {
    // Loaded on demand, since the S3 client needs tens of megabytes of memory.
    const { openS3Store } = await import('./s3Store.ts')
    return openS3Store(parsed)
  }
  throw new Error(
    'The URL of the object store must be file:///folder or s3://bucket?endpoint=https://host&region=name.',
  )
}
