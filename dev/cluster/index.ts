import { resolveBinaries } from '#dev/kubernetes/binaries.ts'
import { chooseNode, missingForContainerd } from '#dev/node/index.ts'
import { useExternalCluster } from './external.ts'
import { programsFor, startLocalCluster } from './local.ts'
import type { Cluster, ClusterOptions } from './types.ts'

/**
 * Uses the cluster of KUBECONFIG if it is set, and otherwise starts one on this machine. Throws an error that lists
 * every source that was tried if no source has the programs.
 */
export const startCluster = async (options: ClusterOptions): Promise<Cluster> => {
  const { env, progress } = options
  if (env.KUBECONFIG) return useExternalCluster(options)
  const { kind, why } = chooseNode(options.node, missingForContainerd(env))
  const binaries = await resolveBinaries(programsFor(kind), { env, progress })
  progress(`node: ${why}`)
  return startLocalCluster(kind, binaries, options)
}
