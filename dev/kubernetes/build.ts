import { buildGoProgram, type GoProgram, hasGo } from '#dev/goBuild.ts'
import type { Binary, Source, SourceRequest } from './hosts.ts'

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

/**
 * Builds the programs from the module proxy. Go's own cache lets an interrupted build continue. An unreachable proxy is
 * returned as a reason and not thrown, since a later source may have the programs.
 */
export const fromGo: Source = async (request) => {
  const { names, env, progress } = request
  if (!hasGo(env)) return 'Go: there is none on the PATH'
  progress(
    `no release host answers, so Go builds ${names.join(', ')}: once${names.length > 2 ? ', about 7 minutes with 2 CPUs' : ''}`,
  )
  progress('meanwhile, read docs/worlds.md (what a world is) and docs/rest.md (what the demo will call)')
  for (const name of names) {
    const failure = await buildGoProgram(programOf(name, request))
    if (failure !== undefined) return `Go: ${failure}`
  }
  return undefined
}

const programOf = (name: Binary, { names, cache, release, env, progress }: SourceRequest): GoProgram => {
  const { version, moduleDir } = release
  const [major, minor] = version.split('.')
  const set = (key: string, value: string): string => `k8s.io/component-base/version.${key}=${value}`
  return {
    name,
    goPackage: packages[name],
    moduleDir,
    cache,
    variables: [set('gitVersion', `v${version}`), set('gitMajor', major ?? ''), set('gitMinor', minor ?? '')],
    versionArgs: name === 'kubectl' ? ['version', '--client'] : ['--version'],
    env,
    progress,
    remark: `${names.indexOf(name) + 1} of ${names.length}`,
  }
}
