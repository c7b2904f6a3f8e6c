/** What the operator is told about worlds by its configuration; durations in milliseconds unless they say otherwise. */
export type WorldSettings = {
  /** The image of a world that names none. */
  readonly defaultServerImage: string
  /** Where servers and bots reach the API. */
  readonly publicUrl: string
  /** The part of a profile's limit that a pod requests, above 0 and at most 1. */
  readonly memoryRequestRatio: number
  readonly cpuRequestRatio: number
  /** How long a server may take to become Ready for the first time. */
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
}
