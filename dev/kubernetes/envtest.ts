import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Progress } from '#dev/progress.ts'

const host = 'https://github.com/kubernetes-sigs/controller-tools/releases/download'
const answerTimeoutMs = 5_000
const downloadTimeoutMs = 300_000
const maxArchiveBytes = 512 * 1024 * 1024

/**
 * Puts etcd, kube-apiserver and kubectl from the official envtest archive into the cache, if the release host answers
 * and the checksum beside the archive is right. A host that cannot be reached, or goes away before all of the archive
 * is here, is no error: the next source is tried.
 */
export const downloadEnvtest = async (options: {
  cache: string
  version: string
  progress: Progress
}): Promise<void> => {
  const { cache, version, progress } = options
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const archive = `envtest-v${version}-${process.platform}-${architecture}.tar.gz`
  const url = `${host}/envtest-v${version}/${archive}`
  const expected = await text(`${url}.sha512`)
  if (expected === undefined) return
  progress(`downloading ${archive}`)
  const bytes = await archiveOf(url)
  if (bytes === undefined) return progress(`${archive} could not be downloaded`)
  const actual = createHash('sha512').update(bytes).digest('hex')
  if (actual !== expected.split(/\s/)[0]) throw new Error(`The checksum of ${url} is wrong; nothing of it was used.`)
  const aside = mkdtempSync(join(cache, '.envtest-'))
  try {
    writeFileSync(join(aside, archive), bytes)
    execFileSync('tar', ['-xzf', archive, '--strip-components=2'], { cwd: aside })
    for (const name of ['etcd', 'kube-apiserver', 'kubectl']) renameSync(join(aside, name), join(cache, name))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

const archiveOf = async (url: string): Promise<Buffer | undefined> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs) })
    if (!answer.ok || answer.body === null) return undefined
    const chunks: Uint8Array[] = []
    let size = 0
    for await (const chunk of answer.body) {
      size += chunk.byteLength
      if (size > maxArchiveBytes) return undefined
      chunks.push(chunk)
    }
    return Buffer.concat(chunks)
  } catch {
    return undefined
  }
}

const text = async (url: string): Promise<string | undefined> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) })
    return answer.ok ? await answer.text() : undefined
  } catch {
    return undefined
  }
}
