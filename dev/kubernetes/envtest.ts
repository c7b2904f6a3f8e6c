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
 * and the checksum beside the archive is right. A host that cannot be reached is no error: the next source is tried.
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
  const answer = await fetch(url, { signal: AbortSignal.timeout(downloadTimeoutMs) })
  const size = Number(answer.headers.get('content-length') ?? 0)
  if (!answer.ok || size > maxArchiveBytes) return
  const bytes = Buffer.from(await answer.arrayBuffer())
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

const text = async (url: string): Promise<string | undefined> => {
  try {
    const answer = await fetch(url, { signal: AbortSignal.timeout(answerTimeoutMs) })
    return answer.ok ? await answer.text() : undefined
  } catch {
    return undefined
  }
}
