/** The settings for restarts of failed servers and bots. */
export type RestartSettings = {
  /** The number of failures that are followed by a restart; the next failure is final. */
  readonly restartBudget: number
  /** The wait before the first restart. It doubles with each further one, up to the maximum. */
  readonly restartBackoffMs: number
  readonly restartBackoffMaxMs: number
  /** Earlier failures no longer count once a server was Ready, or a bot ran, for this time. */
  readonly restartRefillMs: number
}

/** Returns the milliseconds before restart number `restart`, which counts from 1. */
export const restartBackoffMs = (restart: number, settings: RestartSettings): number =>
  Math.min(settings.restartBackoffMaxMs, settings.restartBackoffMs * 2 ** Math.min(restart - 1, 20))
