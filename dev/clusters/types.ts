import type { NodeChoice, NodeKind } from '#dev/node/types.ts'
import type { Progress } from '#dev/progress.ts'

/** The kind of node that runs a stack's pods; `external` stands for the nodes of the KUBECONFIG cluster. */
export type ClusterNode = NodeKind | 'external'

/** A cluster that a stack can use. */
export type Cluster = {
  readonly kubeconfig: string
  /** A path, or the bare name where this machine has no kubectl. */
  readonly kubectl: string
  readonly apiKubeconfig: string
  readonly operatorKubeconfig: string
  readonly serverImage: string
  /** Empty where there is none: then no bots are made. */
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
  progress: Progress
  /** Receives each started part. The parts are stopped in reverse order, also if a later one fails to start. */
  parts: { stop(): Promise<void> }[]
}
