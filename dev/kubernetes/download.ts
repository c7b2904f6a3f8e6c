import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const answerTimeoutMs = 5_000
const downloadTimeoutMs = 300_000
const maxTextBytes = 16 * 1024 * 1024
const maxFileBytes = 512 * 1024 * 1024

/** The checksum of a file as its release host publishes it, in hexadecimal digits. */
export type Checksum = { readonly algorithm: 'sha256' | 'sha512'; readonly hex: string }

/** Returns the text at a URL, or undefined if the host does not answer in time with success. */
export const fetchText = async (url: string): Promise<string | undefined> =>
  (await read(url, answerTimeoutMs, maxTextBytes))?.toString('utf8')

/**
 * Returns the verified bytes of a file, or undefined if the host does not answer or the download breaks off. Throws if
 * the checksum is wrong: then the host, or something on the way to it, cannot be trusted.
 */
export const fetchFile = async (url: string, checksum: Checksum): Promise<Buffer | undefined> => {
  const bytes = await read(url, downloadTimeoutMs, maxFileBytes)
  if (bytes === undefined) return undefined
  const actual = createHash(checksum.algorithm).update(bytes).digest('hex')
  if (actual !== checksum.hex.toLowerCase()) {
    throw new Error(
      `The ${checksum.algorithm} checksum of ${url} is ${actual}, and its release says ${checksum.hex}. The file was not used.`,
    )
  }
  return bytes
}

/** Puts a program into the cache. It is written beside its target and renamed, so that a partial one is never found. */
export const cacheProgram = (cache: string, name: string, bytes: Buffer): void => {
  const aside = mkdtempSync(join(cache, `.${name}-`))
  try {
    writeFileSync(join(aside, name), bytes)
    chmodSync(join(aside, name), 0o755)
    renameSync(join(aside, name), join(cache, name))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const read = async (url: string, timeoutMs: number, maxBytes: number): Promise<Buffer | undefined> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    if (!answer.ok || answer.body === null) {
      await answer.body?.cancel()
      return undefined
    }
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of answer.body) {
      size += chunk.byteLength
      if (size > maxBytes) return undefined
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}
