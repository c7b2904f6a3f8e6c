import type { ClientLimits } from '#dev/kubernetes/controlPlane.ts'
import type { NodeChoice, NodeKind } from '#dev/node/types.ts'
import type { Progress } from '#dev/progress.ts'

/** The kind of node that runs a stack's pods; `external` stands for the nodes of the KUBECONFIG cluster. */
export type ClusterNode = NodeKind | 'external'

/** A cluster that a stack can use. */
export type Cluster = {
  readonly kubeconfig: string
  /** A path, or the bare name if this machine has no kubectl. */
  readonly kubectl: string
  readonly apiKubeconfig: string
  readonly operatorKubeconfig: string
  readonly serverImage: string
  /** Empty if there is no bot image; then no bots are created. */
  readonly botImage: string
  /** The address by which pods reach this machine. */
  readonly hostAddress: string
  readonly node: ClusterNode
  /** Resolve with the name of a part of the cluster that ended. */
  readonly ends: readonly Promise<string>[]
}

export type ClusterOptions = {
  stateDir: string
  logDir: string
  node: NodeChoice
  env: NodeJS.ProcessEnv
  /** Installs the definitions into a local cluster before its controllers start. */
  define?: (adminKubeconfig: string) => Promise<void>
  /** The client-side limits of the scheduler and the controller-manager of a local cluster. */
  clientLimits?: ClientLimits
  /** The addresses of the pods of a simulated node. */
  podCidr?: string
  progress: Progress
  /** Receives each started part. The parts are stopped in reverse order, also if a later one fails to start. */
  parts: { stop(): Promise<void> }[]
}
