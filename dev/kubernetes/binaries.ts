import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { goVersion, isExecutable, programCacheDir } from '#dev/goBuild.ts'
import type { Progress } from '#dev/progress.ts'
import { type Binary, buildBinary, moduleDir } from './build.ts'
import { downloadEnvtest } from './envtest.ts'

/** The version of Kubernetes that everything here is made for. */
export const kubernetesVersion = '1.36.3'

const inEnvtest: readonly Binary[] = ['etcd', 'kube-apiserver', 'kubectl']

/**
 * The absolute path of each program, from the first source that has it: the folder that KUBEBUILDER_ASSETS names, the
 * cache, the official envtest archive, a build from the Go module proxy. None is an error that says what to provide.
 */
export const resolveBinaries = async <B extends Binary>(
  names: readonly B[],
  options: { env: NodeJS.ProcessEnv; progress: Progress },
): Promise<Record<B, string>> => {
  const { env, progress } = options
  const cache = cacheDir(env)
  const found = {} as Record<B, string>
  const find = (name: B): string | undefined =>
    [env.KUBEBUILDER_ASSETS, cache]
      .filter((dir) => dir !== undefined && dir !== '')
      .map((dir) => join(dir ?? '', name))
      .find(isExecutable)
  const missing = (): B[] => names.filter((name) => find(name) === undefined)

  if (missing().length > 0) mkdirSync(cache, { recursive: true })
  if (missing().some((name) => inEnvtest.includes(name))) {
    await downloadEnvtest({ cache, version: kubernetesVersion, progress })
  }
  const toBuild = missing()
  if (toBuild.length > 0 && goVersion() === undefined) throw new Error(noSource(toBuild))
  for (const name of toBuild) await buildBinary({ name, cache, version: kubernetesVersion, progress })
  for (const name of names) {
    const path = find(name)
    if (path === undefined) throw new Error(noSource([name]))
    found[name] = path
  }
  return found
}

/** Where programs are kept between runs and checkouts: outside of both, by version and by what they are built from. */
export const cacheDir = (env: NodeJS.ProcessEnv): string =>
  programCacheDir({ env, name: `kubernetes-${kubernetesVersion}`, moduleDir })

const noSource = (names: readonly string[]): string =>
  [
    `No source of Kubernetes on this machine has ${names.join(', ')}. Provide one of these:`,
    '  - KUBECONFIG, to use a cluster that runs already (npm start only)',
    '  - KUBEBUILDER_ASSETS, a folder with etcd, kube-apiserver and kubectl',
    '  - Go 1.26 or newer on the PATH, to build them from the Go module proxy (about 6 minutes, once)',
    '  - access to the release host of the Kubernetes project, for the envtest archive',
  ].join('\n')
