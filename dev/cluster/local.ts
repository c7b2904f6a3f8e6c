import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir } from '#dev/kubernetes/binaries.ts'
import { startControlPlane } from '#dev/kubernetes/controlPlane.ts'
import type { Binary } from '#dev/kubernetes/hosts.ts'
import { startNode } from '#dev/node/index.ts'
import type { NodeKind } from '#dev/node/types.ts'
import { withDefined } from '#shared/optional.ts'
import { idOf } from './id.ts'
import type { Cluster, ClusterOptions } from './types.ts'

const controlPlanePrograms = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl'] as const
const nodePrograms = { containerd: 'kubelet', kwok: 'kwok' } as const satisfies Record<NodeKind, Binary>

type Program = (typeof controlPlanePrograms)[number] | (typeof nodePrograms)[NodeKind]

/** Returns the programs of a cluster with that node. */
export const programsFor = (kind: NodeKind): readonly Program[] => [...controlPlanePrograms, nodePrograms[kind]]

/** Starts a control plane and a node on this machine. */
export const startLocalCluster = async (
  kind: NodeKind,
  binaries: Record<Program, string>,
  { stateDir, logDir, env, progress, parts, define, clientLimits, podCidr }: ClusterOptions,
): Promise<Cluster> => {
  const dir = join(stateDir, 'kubernetes')
  const controlPlane = await startControlPlane({
    dir,
    logDir,
    binaries,
    durable: true,
    progress,
    ...withDefined({ define, clientLimits }),
  })
  parts.push(controlPlane)
  const nodeDir = join(stateDir, 'node')
  mkdirSync(nodeDir, { recursive: true })
  const node = await startNode(kind, {
    id: idOf(stateDir),
    dir: nodeDir,
    logDir,
    cacheDir: cacheDir(env),
    controlPlane,
    kubectl: binaries.kubectl,
    program: binaries[nodePrograms[kind]],
    progress,
    env,
    ...withDefined({ podCidr }),
  })
  parts.push(node)
  return {
    kubeconfig: controlPlane.adminKubeconfig,
    kubectl: binaries.kubectl,
    apiKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-api' }),
    operatorKubeconfig: await controlPlane.kubeconfig({ user: 'orrery-operator' }),
    serverImage: env.ORRERY_DEFAULT_SERVER_IMAGE || node.serverImage,
    botImage: env.ORRERY_DEFAULT_BOT_IMAGE || node.botImage,
    hostAddress: controlPlane.advertiseAddress,
    node: kind,
    ends: [controlPlane.ended],
  }
}
