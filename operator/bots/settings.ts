import type { RestartSettings } from '#operator/lifecycle/restartBudget.ts'
import type { PodSettings } from '#operator/pods/pod.ts'
import type { StopSettings } from '#operator/pods/termination.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'

/** The operator's settings for bots. */
export type BotSettings = RestartSettings &
  PodSettings &
  StopSettings & {
    /** The image of all bots. Without one, no bot is created and each bot deployment reports it. */
    readonly image: string | undefined
    /** The limits of each profile, which no bot of a world exceeds. */
    readonly profiles: ScalingProfiles
    /** The part of a limit that a pod requests, above 0 and at most 1. */
    readonly memoryRequestRatio: number
    readonly cpuRequestRatio: number
  }
