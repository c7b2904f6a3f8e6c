import { createHash } from 'node:crypto'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const answerTimeoutMs = 5_000
const downloadTimeoutMs = 300_000
const maxTextBytes = 16 * 1024 * 1024
const maxFileBytes = 512 * 1024 * 1024

/** A file's checksum as its release host states it, in hexadecimal digits. */
export type Checksum = { readonly algorithm: 'sha256' | 'sha512'; readonly hex: string }

/** The text behind the URL; undefined where no host answers it in time and well. */
export const fetchText = async (url: string): Promise<string | undefined> =>
  (await read(url, answerTimeoutMs, maxTextBytes))?.toString('utf8')

/**
 * All bytes of a file, checked. Undefined where the host does not answer or goes away before the end. Bytes of another
 * checksum are an error: then the host, or what is between, is not to be trusted.
 */
export const fetchFile = async (url: string, checksum: Checksum): Promise<Buffer | undefined> => {
  const bytes = await read(url, downloadTimeoutMs, maxFileBytes)
  if (bytes === undefined) return undefined
  const actual = createHash(checksum.algorithm).update(bytes).digest('hex')
  if (actual !== checksum.hex.toLowerCase()) {
    throw new Error(
      `The ${checksum.algorithm} checksum of ${url} is ${actual}, its release says ${checksum.hex}: nothing of it was used.`,
    )
  }
  return bytes
}

/** Puts a program into the cache. It is written aside and renamed, so a half-written one is never found there. */
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
