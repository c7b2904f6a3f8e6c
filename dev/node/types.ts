import type { ControlPlane } from '#dev/kubernetes/controlPlane.ts'
import type { Progress } from '#dev/progress.ts'

/** A node that runs pods: the real kubelet with containerd, or a simulation in which no container runs. */
export type NodeKind = 'containerd' | 'kwok'
/** The value of --node. `auto` is the real node if this machine can run it. */
export type NodeChoice = 'auto' | NodeKind

/** A node of one stack. */
export type StackNode = {
  readonly kind: NodeKind
  readonly name: string
  /** The default image of worlds, as this node names it. */
  readonly serverImage: string
  /** The default image of bots. */
  readonly botImage: string
  /** Ends its pods and leaves no process, mount, interface or cgroup behind. */
  stop(): Promise<void>
}

export type NodeOptions = {
  /** Eight lower-case hexadecimal digits, unique among the stacks of this machine. */
  id: string
  dir: string
  logDir: string
  cacheDir: string
  controlPlane: ControlPlane
  kubectl: string
  /** The path of the kubelet or of kwok, depending on the kind. */
  program: string
  /** The addresses of the pods of a simulated node. Nothing has the default ones. */
  podCidr?: string
  env: NodeJS.ProcessEnv
  progress: Progress
}
