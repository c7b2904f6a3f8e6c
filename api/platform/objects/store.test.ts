import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openObjectStore } from './open.ts'
import { parseS3Url } from './s3Url.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-objects-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

describe('the URL of the object store', () => {
  test.each(['', 'nonsense', '/var/objects', 'https://bucket.example', 'ftp://bucket'])(
    'rejects %s with the valid forms',
    async (url) => {
      await expect(openObjectStore(url)).rejects.toThrow('must be file:///folder or s3://bucket?endpoint=')
    },
  )

  test.each(['file://host/folder', 'file:///folder?query=1', 'file:///a%2Fb'])('refuses %s', async (url) => {
    await expect(openObjectStore(url)).rejects.toThrow('must be file:///folder, without host and query')
  })

  test('is parsed into bucket, endpoint, region and a prefix that ends with a slash', () => {
    const url = new URL('s3://pictures?endpoint=http://127.0.0.1:9000&region=eu-central-1&prefix=orrery/prod')
    expect(parseS3Url(url)).toEqual({
      bucket: 'pictures',
      endpoint: 'http://127.0.0.1:9000',
      region: 'eu-central-1',
      prefix: 'orrery/prod/',
    })
    const least = { bucket: 'pictures', endpoint: undefined, region: undefined, prefix: '' }
    expect(parseS3Url(new URL('s3://pictures'))).toEqual(least)
  })

  test.each([
    ['s3://key:secret-word@bucket', 'contains credentials'],
    ['s3://bucket?endpoint=http://key:secret-word@host', 'not an http or https origin'],
    ['s3://bucket?endpoint=ftp://host', 'not an http or https origin'],
    ['s3://bucket?secret=secret-word', 'unknown or repeated parameter'],
    ['s3://bucket?region=a&region=b', 'unknown or repeated parameter'],
    ['s3://bucket?prefix=../other', 'invalid prefix'],
    ['s3://bucket/folder', 'use the parameter prefix'],
    ['s3://?endpoint=http://host', 'has no valid bucket name'],
  ])('rejects %s without showing the URL', async (url, fault) => {
    const message = await openObjectStore(url).catch((error: Error) => error.message)
    expect(message).toContain(fault)
    expect(message).not.toContain('secret-word')
  })
})

test('rejects a folder that is not writable when the store is opened', async () => {
  const file = join(dir, 'file')
  writeFileSync(file, '')
  await expect(openObjectStore(pathToFileURL(file).href)).rejects.toThrow(
    `The object store cannot write to ${file} (ENOTDIR). Set a writable folder.`,
  )
})
