/** What the operator is told about bots by its configuration; durations in milliseconds unless they say otherwise. */
export type BotSettings = {
  /** The image of all bots; without one no bot is made, and every deployment says so. */
  readonly image: string | undefined
  /** Where bots reach the API. */
  readonly publicUrl: string
  /** The part of its limits that a bot requests, above 0 and at most 1. */
  readonly memoryRequestRatio: number
  readonly cpuRequestRatio: number
  /** How long a bot has between SIGTERM and SIGKILL. */
  readonly stopGraceSeconds: number
  /** How many failures of one bot are answered by a new pod; one more, and the bot is given up. */
  readonly restartBudget: number
  /** The wait before the first restart of a bot; it doubles with each one after it, up to the maximum. */
  readonly restartBackoffMs: number
  readonly restartBackoffMaxMs: number
  /** How long a bot must have run for its earlier failures to be forgotten. */
  readonly restartRefillMs: number
}
