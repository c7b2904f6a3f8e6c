/** The reasons for which a run ended. */
export const runEndReasons = ['Stopped', 'Expired', 'Idle', 'Completed', 'StartDeadline', 'RestartBudget'] as const

export type RunEndReason = (typeof runEndReasons)[number]

/** The message of a run that the operator has not reported yet. */
export const runRequestedMessage = 'The run was requested.'

/** The sentence for each end of a run that has no message of its own. */
export const runEndMessages: Readonly<Record<RunEndReason, string>> = {
  Stopped: 'The world was stopped.',
  Expired: 'The duration of the run is over.',
  Idle: 'Nobody was in the world for its idleStopMinutes.',
  Completed: 'The server ended the run.',
  StartDeadline: 'The server was not ready in time.',
  RestartBudget: 'The server failed too often.',
}
