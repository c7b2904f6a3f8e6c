import { execFileSync } from 'node:child_process'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import * as z from 'zod'
import { fetchFile, fetchText } from './download.ts'
import type { Binary } from './hosts.ts'
import { platform, releaseHosts, type Source } from './hosts.ts'

const inArchive: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl']
const indexSchema = z.object({
  releases: z.record(z.string(), z.record(z.string(), z.object({ hash: z.string(), selfLink: z.url() }))),
})

/**
 * Downloads etcd, kube-apiserver and kubectl from the official envtest archive. Not every patch of Kubernetes has one,
 * so the newest one of the same minor version is used.
 */
export const fromEnvtest: Source = async ({ names, cache, release: { version }, env, progress }) => {
  const wanted = names.filter((name) => inArchive.includes(name))
  if (wanted.length === 0) return undefined
  const { envtestIndex } = releaseHosts(env)
  const index = await fetchText(envtestIndex)
  if (index === undefined) return `the envtest archive: ${envtestIndex} did not answer`
  const archive = newestOf(index, version)
  if (archive === undefined) {
    return `the envtest archive: ${envtestIndex} lists none of ${minorOf(version)} for ${platform.os}-${platform.architecture}`
  }
  progress(`downloading ${archive.url}`)
  const bytes = await fetchFile(archive.url, { algorithm: 'sha512', hex: archive.hash })
  if (bytes === undefined) return `the envtest archive: ${archive.url} could not be downloaded`
  const aside = mkdtempSync(join(cache, '.envtest-'))
  try {
    writeFileSync(join(aside, 'archive.tar.gz'), bytes)
    execFileSync('tar', ['-xzf', 'archive.tar.gz', '--strip-components=2'], { cwd: aside })
    for (const name of wanted) renameSync(join(aside, name), join(cache, name))
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  return undefined
}

const minorOf = (version: string): string => version.split('.').slice(0, 2).join('.')

const newestOf = (index: string, version: string): { url: string; hash: string } | undefined => {
  const { success, data } = indexSchema.safeParse(parsed(index))
  if (!success) return undefined
  const patchOf = (release: string): number => Number(release.split('.')[2])
  const releases = Object.keys(data.releases)
    .filter((release) => release.startsWith(`v${minorOf(version)}.`) && Number.isInteger(patchOf(release)))
    .sort((a, b) => patchOf(b) - patchOf(a))
  for (const release of releases) {
    const file = data.releases[release]?.[`envtest-${release}-${platform.os}-${platform.architecture}.tar.gz`]
    if (file) return { url: file.selfLink, hash: file.hash }
  }
  return undefined
}

/** An invalid page, such as that of a captive portal, counts as no response. */
const parsed = (text: string): unknown => {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
