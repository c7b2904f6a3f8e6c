import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programCacheDir } from '#dev/goBuild.ts'
import { isExecutable } from '#dev/programs.ts'
import type { Progress } from '#dev/progress.ts'
import { fromGo } from './build.ts'
import { fromEnvtest } from './envtest.ts'
import type { Binary, Release, Source } from './hosts.ts'
import { fromKubernetesRelease, fromKwokRelease } from './released.ts'

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** The Kubernetes that `npm start` and the tests run. */
export const newestRelease: Release = { version: '1.36.3', moduleDir: folder('.') }
/** The oldest Kubernetes that the product supports. Its module has only kube-apiserver. */
export const oldestRelease: Release = { version: '1.30.14', moduleDir: folder('oldest') }

/**
 * Downloads come before builds, since they take seconds. Each source is tried only for programs that are still missing.
 */
const sources: readonly Source[] = [fromEnvtest, fromKubernetesRelease, fromKwokRelease, fromGo]

/** `release` is the newest by default. */
type ObtainOptions = { env: NodeJS.ProcessEnv; progress: Progress; release?: Release }

/** The absolute path of each program that was found, and the reasons why the others are missing. */
export type Obtained<B extends Binary> = {
  readonly found: Partial<Record<B, string>>
  readonly missing: readonly B[]
  readonly tried: readonly string[]
}

/**
 * Returns programs from the folder of KUBEBUILDER_ASSETS and from the cache. Missing ones are downloaded from the
 * official releases, with verified checksums, or built from the Go module proxy.
 */
export const obtainBinaries = async <B extends Binary>(
  names: readonly B[],
  { env, progress, release = newestRelease }: ObtainOptions,
): Promise<Obtained<B>> => {
  const cache = cacheDir(env, release)
  const folders = [...(env.KUBEBUILDER_ASSETS ? [env.KUBEBUILDER_ASSETS] : []), cache]
  const find = (name: B): string | undefined => folders.map((dir) => join(dir, name)).find(isExecutable)
  const missing = (): B[] => names.filter((name) => find(name) === undefined)
  const tried: string[] = []
  for (const source of sources) {
    if (missing().length === 0) break
    mkdirSync(cache, { recursive: true })
    const why = await source({ names: missing(), cache, release, env, progress })
    if (why !== undefined) tried.push(why)
  }
  const paths = names.flatMap((name) => {
    const path = find(name)
    return path === undefined ? [] : [[name, path]]
  })
  return { found: Object.fromEntries(paths), missing: missing(), tried }
}

/** Like `obtainBinaries`, but throws an error that says what to provide if a program is missing. */
export const resolveBinaries = async <B extends Binary>(
  names: readonly B[],
  options: ObtainOptions,
): Promise<Record<B, string>> => {
  const { found, missing, tried } = await obtainBinaries(names, options)
  if (missing.length > 0) throw noSource(names, missing, tried)
  return found as Record<B, string>
}

/** Returns the cache folder of the programs, which is outside the checkout and named by version and lock file. */
export const cacheDir = (env: NodeJS.ProcessEnv, { version, moduleDir } = newestRelease): string =>
  programCacheDir({ env, name: `kubernetes-${version}`, moduleDir })

/** Returns the error for a machine without Kubernetes: the missing programs, the tried sources and the alternatives. */
const noSource = (names: readonly string[], missing: readonly string[], tried: readonly string[]): Error =>
  new Error(
    [
      `This machine has no ${missing.join(', ')}, and no source of Kubernetes has them:`,
      ...tried.map((why) => `  - ${why}`),
      'Any one of these is enough:',
      '  - KUBECONFIG, which names a cluster that runs already (npm start only)',
      `  - KUBEBUILDER_ASSETS, a folder with ${names.join(', ')}`,
      '  - network access to the hosts above, for the official programs',
      '  - Go 1.26 or newer on the PATH, to build them from the Go module proxy (about 6 minutes, once)',
    ].join('\n'),
  )
