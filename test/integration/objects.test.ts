import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CreateBucketCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { ObjectStoreError } from '#api/platform/objects/errors.ts'
import { openObjectStore } from '#api/platform/objects/open.ts'
import type { ObjectStore } from '#api/platform/objects/store.ts'
import { type ObjectServer, startObjectServer } from '#dev/s3/versitygw.ts'
import { withDefined } from '#shared/optional.ts'
import { getServers } from '#test/support/servers.ts'
import { expectWithin } from '#test/support/timing.ts'

const coldBuildTimeoutMs = 300_000
const image = process.env.ORRERY_TEST_S3_IMAGE
const bucket = 'pictures'
const webp = 'image/webp'

let dir: string
let server: ObjectServer
let client: S3Client

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-objects-'))
  server = image
    ? await (await import('#test/support/containers.ts')).startObjectServerContainer(image)
    : await startObjectServer({
        dir: join(dir, 's3'),
        logDir: getServers().logDir,
        progress: (line) => void process.stderr.write(`[setup] ${line}\n`),
        env: process.env,
      })
  vi.stubEnv('AWS_ACCESS_KEY_ID', server.accessKeyId)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretAccessKey)
  client = new S3Client({ endpoint: server.endpoint, region: 'us-east-1', forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: bucket }))
}, coldBuildTimeoutMs)

afterAll(async () => {
  vi.unstubAllEnvs()
  client?.destroy()
  await server?.stop()
  rmSync(dir, { recursive: true, force: true })
})

let stores = 0
const fileStoreDir = (): string => join(dir, `files-${stores}`)
const s3Url = (prefix: string, more: { endpoint?: string; bucket?: string } = {}): string =>
  `s3://${more.bucket ?? bucket}?endpoint=${more.endpoint ?? server.endpoint}&region=us-east-1&prefix=${prefix}`

const openers: [string, () => Promise<ObjectStore>][] = [
  ['in files', () => openObjectStore(pathToFileURL(fileStoreDir()).href)],
  ['in S3', () => openObjectStore(s3Url(`orrery/${stores}`))],
]

const aStoreOf = (open: () => Promise<ObjectStore>): Promise<ObjectStore> => {
  stores += 1
  return open()
}
const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text)
const textOf = async (store: ObjectStore, name: string): Promise<string | undefined> => {
  const found = await store.get(name)
  return found === undefined ? undefined : new TextDecoder().decode(found.bytes)
}
const namesOf = async (store: ObjectStore, options: Parameters<ObjectStore['list']>[0]): Promise<string[]> =>
  (await store.list(options)).map((object) => object.name)

describe.each(openers)('an object store %s', (_, open) => {
  test('returns an object with its content type', async () => {
    const store = await aStoreOf(open)
    const bytes = Uint8Array.from({ length: 256 * 1024 }, (_, at) => at % 251)
    await store.put('worlds/wld-1/picture.webp', bytes, webp)
    const found = await store.get('worlds/wld-1/picture.webp')
    expect(found?.contentType).toBe(webp)
    expect(Buffer.compare(found?.bytes ?? bytesOf(''), bytes)).toBe(0)
  })

  test('keeps an object of no bytes', async () => {
    const store = await aStoreOf(open)
    await store.put('empty.webp', bytesOf(''), webp)
    expect(await textOf(store, 'empty.webp')).toBe('')
  })

  test('returns nothing for an unknown name', async () => {
    const store = await aStoreOf(open)
    expect(await store.get('absent.webp')).toBeUndefined()
    expect(await store.get('no/such/folder.webp')).toBeUndefined()
    expect(await store.list({ prefix: '', limit: 10 })).toEqual([])
  })

  test('returns nothing for a removed name, which may be removed twice', async () => {
    const store = await aStoreOf(open)
    await store.put('a/b.webp', bytesOf('b'), webp)
    await store.remove('a/b.webp')
    await store.remove('a/b.webp')
    await store.remove('never/put.webp')
    expect(await store.get('a/b.webp')).toBeUndefined()
    expect(await store.list({ prefix: '', limit: 10 })).toEqual([])
  })

  test('replaces an object of the same name, also with a shorter one', async () => {
    const store = await aStoreOf(open)
    await store.put('a.webp', bytesOf('the first and longer one'), webp)
    await store.put('a.webp', bytesOf('the second'), webp)
    expect(await textOf(store, 'a.webp')).toBe('the second')
    expect(await namesOf(store, { prefix: '', limit: 10 })).toEqual(['a.webp'])
  })

  test('lists in byte order of names, in pages', async () => {
    const store = await aStoreOf(open)
    const names = ['a-b/x.webp', 'a.webp', 'a/x.webp', 'a/y/z.webp', 'a0.webp', 'a_b.webp', 'ab/x.webp']
    for (const name of names.toReversed()) await store.put(name, bytesOf(name), webp)
    expect(await namesOf(store, { prefix: '', limit: 1_000 })).toEqual(names)
    const page = (after?: string) => namesOf(store, { prefix: '', limit: 3, ...withDefined({ after }) })
    expect(await page()).toEqual(names.slice(0, 3))
    expect(await page(names[2])).toEqual(names.slice(3, 6))
    expect(await page(names[5])).toEqual(names.slice(6))
    expect(await page(names[6])).toEqual([])
  })

  test('lists by a prefix of names, also after a name that is gone', async () => {
    const store = await aStoreOf(open)
    for (const name of ['p/1.webp', 'p/20.webp', 'p/21.webp', 'p/3.webp', 'q/2.webp']) {
      await store.put(name, bytesOf(name), webp)
    }
    expect(await namesOf(store, { prefix: 'p/', limit: 10 })).toEqual([
      'p/1.webp',
      'p/20.webp',
      'p/21.webp',
      'p/3.webp',
    ])
    expect(await namesOf(store, { prefix: 'p/2', limit: 10 })).toEqual(['p/20.webp', 'p/21.webp'])
    expect(await namesOf(store, { prefix: 'p/', limit: 10, after: 'p/205.webp' })).toEqual(['p/21.webp', 'p/3.webp'])
    expect(await namesOf(store, { prefix: 'p/', limit: 10, after: 'p/3.webp' })).toEqual([])
    expect(await namesOf(store, { prefix: 'x', limit: 10 })).toEqual([])
    expect(await namesOf(store, { prefix: '../', limit: 10 })).toEqual([])
  })

  test('lists when an object was put, to the second', async () => {
    const store = await aStoreOf(open)
    const beforeMs = Date.now()
    await store.put('a.webp', bytesOf('a'), webp)
    const [listed] = await store.list({ prefix: '', limit: 1 })
    expect(listed?.modifiedAt.getTime()).toBeGreaterThan(beforeMs - 2_000)
    expect(listed?.modifiedAt.getTime()).toBeLessThan(Date.now() + 2_000)
  })

  test.each([
    '../out.webp',
    'a/../../out.webp',
    'a/..webp',
    '/etc/out.webp',
    'a//b.webp',
    'a/./b.webp',
    '.hidden.webp',
    'a\\b.webp',
    'A.webp',
    'a.webp/b.webp',
    'a.webp\0',
    'a.webp\n',
    `${'a/'.repeat(9)}b.webp`,
    `${'a'.repeat(300)}.webp`,
    'page.html',
    'a',
    '',
  ])('refuses the name %j', async (name) => {
    const store = await aStoreOf(open)
    const refusal = `${JSON.stringify(name)} is not a valid object name`
    await expect(store.put(name, bytesOf('out'), webp)).rejects.toThrow(refusal)
    await expect(store.get(name)).rejects.toThrow(refusal)
    await expect(store.remove(name)).rejects.toThrow(refusal)
  })

  test('refuses a type that differs from the name, an object over 32 MiB and a page over 1000', async () => {
    const store = await aStoreOf(open)
    await expect(store.put('a.webp', bytesOf('<html>'), 'text/html')).rejects.toThrow(
      'a.webp must have the content type image/webp, not text/html.',
    )
    const large = new Uint8Array(32 * 1024 * 1024 + 1)
    await expect(store.put('a.webp', large, webp)).rejects.toThrow('a.webp is too large. The limit is 33554432 bytes.')
    expect(await store.get('a.webp')).toBeUndefined()
    for (const limit of [0, 1_001, 1.5])
      await expect(store.list({ prefix: '', limit })).rejects.toThrow('Use 1 to 1000')
  })

  test('returns an object of 32 MiB', async () => {
    const store = await aStoreOf(open)
    await store.put('large.webp', new Uint8Array(32 * 1024 * 1024).fill(7), webp)
    const bytes = (await store.get('large.webp'))?.bytes
    expect([bytes?.byteLength, bytes?.at(-1)]).toEqual([32 * 1024 * 1024, 7])
  })

  test('never shows a part of an object that is being replaced', async () => {
    const store = await aStoreOf(open)
    const whole = [1, 2].map((value) => new Uint8Array(2 * 1024 * 1024).fill(value))
    const put = (of: number) => store.put('a.webp', whole[of] ?? bytesOf(''), webp)
    await put(0)
    let isWriting = true
    const reading = (async () => {
      const seen = new Set<string>()
      while (isWriting) {
        const bytes = (await store.get('a.webp'))?.bytes ?? bytesOf('')
        seen.add(whole.some((each) => Buffer.compare(each, bytes) === 0) ? 'whole' : `${bytes.byteLength} bytes`)
      }
      return [...seen]
    })()
    for (let round = 0; round < 20; round += 1) await put(round % 2)
    isWriting = false
    expect(await reading).toEqual(['whole'])
  })
})

describe('an object store in files', () => {
  test('leaves no other files, and lists only objects', async () => {
    stores += 1
    const root = fileStoreDir()
    const store = await openObjectStore(pathToFileURL(root).href)
    await store.put('a/b.webp', bytesOf('b'), webp)
    expect(readdirSync(join(root, '.aside'))).toEqual([])
    for (const file of ['.aside/half.webp', 'a/.hidden.webp', 'README', 'a/Upper.webp']) {
      writeFileSync(join(root, file), '')
    }
    expect(await namesOf(store, { prefix: '', limit: 10 })).toEqual(['a/b.webp'])
    expect(readFileSync(join(root, 'a/b.webp'), 'utf8')).toBe('b')
  })

  test('without disk space reports the reason', async () => {
    stores += 1
    const root = fileStoreDir()
    const store = await openObjectStore(pathToFileURL(root).href)
    mkdirSync(join(root, 'a.webp'))
    const error = await store.put('a.webp', bytesOf('a'), webp).catch((thrown: unknown) => thrown)
    expect(error).toEqual(new ObjectStoreError('put a.webp', 'EISDIR'))
    expect(readdirSync(join(root, '.aside'))).toEqual([])
  })
})

describe('an object store in S3', () => {
  test('returns the type and immutable caching', async () => {
    const store = await openObjectStore(s3Url('told'))
    await store.put('a.webp', bytesOf('a'), webp)
    const head = await client.send(new HeadObjectCommand({ Bucket: bucket, Key: 'told/a.webp' }))
    expect(head).toMatchObject({ ContentType: webp, CacheControl: 'public, max-age=31536000, immutable' })
  })

  test('ignores objects under another prefix and names that put does not create', async () => {
    const [one, other] = [await openObjectStore(s3Url('one')), await openObjectStore(s3Url('other'))]
    await one.put('a.webp', bytesOf('a'), webp)
    expect(await other.get('a.webp')).toBeUndefined()
    expect(await other.list({ prefix: '', limit: 10 })).toEqual([])
    const root = await openObjectStore(s3Url('one/deep'))
    await root.put('b.webp', bytesOf('b'), webp)
    expect(await namesOf(one, { prefix: '', limit: 10 })).toEqual(['a.webp', 'deep/b.webp'])
  })

  test('reports a missing bucket as an error, not as an absent object', async () => {
    const store = await openObjectStore(s3Url('x', { bucket: 'no-such-bucket' }))
    await expect(store.get('a.webp')).rejects.toThrow('Object store operation failed: get a.webp: NoSuchBucket (404).')
    await expect(store.remove('a.webp')).rejects.toThrow('NoSuchBucket (404)')
  })
})

/** Returns everything that a log could show of an error. */
const shown = (error: unknown): string => {
  const parts: string[] = []
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    parts.push(at.message, at.stack ?? '', JSON.stringify(Object.getOwnPropertyDescriptors(at)))
  }
  return parts.join('\n')
}
const failureOf = async (action: Promise<unknown>): Promise<ObjectStoreError> => {
  const error = await action.then(() => undefined).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ObjectStoreError)
  expect(shown(error)).not.toContain(server.accessKeyId)
  expect(shown(error)).not.toContain(server.secretAccessKey)
  return error as ObjectStoreError
}
const everyCall = (store: ObjectStore): Promise<unknown>[] => [
  store.put('a.webp', bytesOf('a'), webp),
  store.get('a.webp'),
  store.remove('a.webp'),
  store.list({ prefix: '', limit: 1 }),
]

// A container gets another port when it starts again.
test.skipIf(image)('fails soon without naming credentials while the store is down, and recovers', async () => {
  const store = await openObjectStore(s3Url('away'))
  await store.put('kept.webp', bytesOf('kept'), webp)
  await server.stop()
  const startedMs = performance.now()
  const failures = await Promise.all(everyCall(store).map(failureOf))
  expectWithin(performance.now() - startedMs, 10_000)
  const messages = failures.map((failure) => failure.message)
  expect(messages).toEqual(
    ['put a.webp', 'get a.webp', 'remove a.webp', 'list'].map(
      (operation) => `Object store operation failed: ${operation}: ECONNREFUSED.`,
    ),
  )
  await server.start()
  expect(await textOf(store, 'kept.webp')).toBe('kept')
})

test('fails without naming credentials if the store rejects them', async () => {
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', `not-${server.secretAccessKey}`)
  const store = await openObjectStore(s3Url('refused'))
  const failures = await Promise.all(everyCall(store).map(failureOf))
  expect(failures.every((failure) => failure.message.endsWith(': SignatureDoesNotMatch (403).'))).toBe(true)
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', server.secretAccessKey)
})
