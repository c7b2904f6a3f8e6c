import { fileURLToPath } from 'node:url'
import { buildGoProgram, hasGo } from '#dev/goBuild.ts'
import type { Progress } from '#dev/progress.ts'
import type { Binary, Source } from './hosts.ts'

const packages: Record<Binary, string> = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  kubelet: 'k8s.io/kubernetes/cmd/kubelet',
  'kube-proxy': 'k8s.io/kubernetes/cmd/kube-proxy',
  kwok: 'sigs.k8s.io/kwok/cmd/kwok',
}

/** The folder of the Go module that pins all of them. */
export const moduleDir = fileURLToPath(new URL('.', import.meta.url))

/**
 * Builds the programs from the module proxy. Go's own cache lets an interrupted build continue. An unreachable proxy is
 * returned as a reason and not thrown, since a later source may have the programs.
 */
export const fromGo: Source = async ({ names, cache, version, env, progress }) => {
  if (!hasGo(env)) return 'Go: there is none on the PATH'
  for (const name of names) {
    const failure = await buildBinary({ name, cache, version, env, progress })
    if (failure !== undefined) return `Go: ${failure}`
  }
  return undefined
}

const buildBinary = async (options: {
  name: Binary
  cache: string
  version: string
  env: NodeJS.ProcessEnv
  progress: Progress
}): Promise<string | undefined> => {
  const { name, version } = options
  const [major, minor] = version.split('.')
  const set = (key: string, value: string): string => `-X k8s.io/component-base/version.${key}=${value}`
  return buildGoProgram({
    ...options,
    goPackage: packages[name],
    moduleDir,
    ldflags: ['-s -w', set('gitVersion', `v${version}`), set('gitMajor', major ?? ''), set('gitMinor', minor ?? '')],
    versionArgs: name === 'kubectl' ? ['version', '--client'] : ['--version'],
    remark: 'once; all of Kubernetes takes about 6 minutes',
  })
}
