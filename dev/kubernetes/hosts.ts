/** The programs of Kubernetes that this machine may run. */
export type Binary =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kubelet'
  | 'kube-proxy'
  | 'kwok'

/** The hosts of the official programs. Each can be replaced by a mirror; checksums are verified in any case. */
export type ReleaseHosts = {
  /** The list of envtest archives with their checksums. */
  readonly envtestIndex: string
  /** The base URL of `v<version>/bin/<platform>/<architecture>/<program>` and the checksum beside each. */
  readonly kubernetes: string
  /** GitHub's description of the kwok release, with the digest of each file. */
  readonly kwokRelease: string
}

/** The official hosts, or the mirrors that the environment names. */
export const releaseHosts = (env: NodeJS.ProcessEnv): ReleaseHosts => ({
  envtestIndex:
    env.ORRERY_ENVTEST_INDEX ||
    'https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml',
  kubernetes: env.ORRERY_KUBERNETES_RELEASES || 'https://dl.k8s.io/release',
  kwokRelease: env.ORRERY_KWOK_RELEASE || 'https://api.github.com/repos/kubernetes-sigs/kwok/releases/tags/v0.8.0',
})

/** The platform of this machine, as the releases name it. */
export const platform = {
  os: process.platform === 'win32' ? 'windows' : process.platform,
  architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
}

/** A version of Kubernetes, and the folder of the Go module that pins it. */
export type Release = { readonly version: string; readonly moduleDir: string }

/** A request to a source. `names` are the programs that no earlier source had. */
export type SourceRequest = {
  names: readonly Binary[]
  cache: string
  release: Release
  env: NodeJS.ProcessEnv
  progress: (line: string) => void
}

/** Puts the programs that it has into the cache. Returns the reason if it could not provide all of those. */
export type Source = (request: SourceRequest) => Promise<string | undefined>
