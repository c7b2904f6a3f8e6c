import type { RestartSettings } from '#operator/lifecycle/restartBudget.ts'

/** The operator's settings for bots. */
export type BotSettings = RestartSettings & {
  /** The image of all bots. Without one, no bot is created and each deployment reports it. */
  readonly image: string | undefined
  /** The URL at which bots reach the API. */
  readonly publicUrl: string
  /** The part of a limit that a pod requests, above 0 and at most 1. */
  readonly memoryRequestRatio: number
  readonly cpuRequestRatio: number
  /** The time between SIGTERM and SIGKILL. */
  readonly stopGraceSeconds: number
}
