import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cacheDir, newestRelease, oldestRelease, resolveBinaries } from './binaries.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-binaries-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const anExecutable = (folder: string, name: string): string => {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  writeFileSync(file, '')
  chmodSync(file, 0o755)
  return file
}
const silent = (): void => undefined
const environment = () => ({ KUBEBUILDER_ASSETS: join(dir, 'assets'), XDG_CACHE_HOME: join(dir, 'cache') })

describe('the programs of Kubernetes', () => {
  test('come from KUBEBUILDER_ASSETS first, and then from the cache', async () => {
    const env = environment()
    const etcd = anExecutable(env.KUBEBUILDER_ASSETS, 'etcd')
    anExecutable(cacheDir(env), 'etcd')
    const kubectl = anExecutable(cacheDir(env), 'kubectl')
    const found = await resolveBinaries(['etcd', 'kubectl'], { env, progress: silent })
    expect(found).toEqual({ etcd, kubectl })
  })

  test('are not taken from a file that is not executable', async () => {
    const env = environment()
    chmodSync(anExecutable(env.KUBEBUILDER_ASSETS, 'etcd'), 0o644)
    const etcd = anExecutable(cacheDir(env), 'etcd')
    expect(await resolveBinaries(['etcd'], { env, progress: silent })).toEqual({ etcd })
  })

  test('need no cache folder if KUBEBUILDER_ASSETS has them all', async () => {
    const env = environment()
    anExecutable(env.KUBEBUILDER_ASSETS, 'etcd')
    await resolveBinaries(['etcd'], { env, progress: silent })
    expect(existsSync(env.XDG_CACHE_HOME)).toBe(false)
  })
})

test('the cache is outside the checkout and depends on version and lock file', () => {
  const name = new RegExp(`/orrery/kubernetes-${newestRelease.version.replaceAll('.', '\\.')}-[0-9a-f]{12}$`)
  expect(cacheDir({ XDG_CACHE_HOME: '/caches', HOME: '/home/me' })).toMatch(/^\/caches\/orrery\//)
  expect(cacheDir({ HOME: '/home/me' })).toMatch(/^\/home\/me\/\.cache\/orrery\//)
  expect(cacheDir({ HOME: '/home/me' })).toMatch(name)
  expect(cacheDir({ HOME: '/home/me' }, oldestRelease)).not.toMatch(name)
})
