import { noSource, obtainBinaries } from '#dev/kubernetes/binaries.ts'
import { chooseNode, missingForContainerd } from '#dev/node/index.ts'
import { type Docker, findDocker } from './docker.ts'
import { useExternalCluster } from './external.ts'
import { startK3s } from './k3s.ts'
import { programsFor, startLocalCluster } from './local.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/**
 * The first source of Kubernetes that works: the cluster of KUBECONFIG, programs that run on this machine, k3s in
 * Docker. None is an error that says what was tried and what would do.
 */
export const startCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const { env, progress } = options
  if (env.KUBECONFIG) return useExternalCluster(options)
  const { kind, why } = chooseNode(options.node, missingForContainerd(env))
  const programs = programsFor(kind)
  const { found, missing, tried } = await obtainBinaries(programs, { env, progress })
  if (missing.length === 0) {
    progress(`node: ${why}`)
    return startLocalCluster(kind, found as Required<typeof found>, options)
  }
  const docker = await dockerFor(options)
  if (typeof docker === 'string') throw noSource(programs, missing, [...tried, `Docker: ${docker}`])
  progress(`node: that of k3s in Docker, since this machine has no ${missing.join(', ')}`)
  return startK3s(docker, options)
}

/** A node that was asked for by name is not silently another one. */
const dockerFor = async ({ node, env }: ClusterOptions): Promise<Docker | string> =>
  node === 'auto' ? findDocker(env) : `k3s brings a node of its own, and --node ${node} asks for another`
