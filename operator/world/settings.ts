import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Placement } from './placement.ts'

/** What `Default` may stand for: the address of the pod itself, or one of the services. */
export const defaultStrategies = ['PodIP', 'ClusterIP', 'NodePort', 'LoadBalancer'] as const

/** What the operator is told about worlds by its configuration; durations in milliseconds unless they say otherwise. */
export type WorldSettings = {
  /** The image of a world that names none. */
  readonly defaultServerImage: string
  /** Where servers and bots reach the API. */
  readonly publicUrl: string
  /** What each profile stands for in runs that start from now on. */
  readonly profiles: ScalingProfiles
  /** Where servers are placed, by group and region; the first entry that matches counts. */
  readonly placement: readonly Placement[]
  /** How players reach worlds whose strategy is Default. */
  readonly defaultStrategy: (typeof defaultStrategies)[number]
  /** The part of a profile's limit that a pod requests, above 0 and at most 1. */
  readonly memoryRequestRatio: number
  readonly cpuRequestRatio: number
  /** How long a server may take to become Ready. */
  readonly startDeadlineMs: number
  /** How long a server has between SIGTERM and SIGKILL. */
  readonly stopGraceSeconds: number
  /** How many failures of a run are answered by a new pod; one more ends the run. */
  readonly restartBudget: number
  /** The wait before the first restart; it doubles with each one after it, up to the maximum. */
  readonly restartBackoffMs: number
  readonly restartBackoffMaxMs: number
  /** How long a server must have been Ready for its earlier failures to be forgotten. */
  readonly restartRefillMs: number
  /** How long a node may be out of sight before its servers count as ended; 0 is never, since they may still run. */
  readonly nodeLostForceMs: number
}
