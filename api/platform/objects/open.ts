import { openFileStore } from './fileStore.ts'
import type { ObjectStore } from './store.ts'

/**
 * Opens the store that a URL names: `file:///folder` on this machine, or
 * `s3://bucket?endpoint=http://127.0.0.1:9000&region=us-east-1&prefix=folder/` with the credentials of the AWS
 * environment. Throws where the URL is wrong or the folder cannot be written; it does not ask whether S3 is there.
 */
export const openObjectStore = async (url: string): Promise<ObjectStore> => {
  const parsed = URL.parse(url)
  if (parsed?.protocol === 'file:') return openFileStore(parsed)
  if (parsed?.protocol === 's3:') {
    // The client of S3 takes tens of megabytes, which a store in files must not cost.
    const { openS3Store } = await import('./s3Store.ts')
    return openS3Store(parsed)
  }
  throw new Error('The URL of the object store must be file:///folder or s3://bucket?endpoint=https://host&region=name')
}
