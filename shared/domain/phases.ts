import type { BotPhase, DeploymentStatus, WorldPhase } from '#shared/enumerations.ts'

// Each table answers one question about each value. A new phase or status without an answer does not compile.

/** The state of a world's last run in each phase. */
export const lastRunIn: Readonly<Record<WorldPhase, 'none' | 'open' | 'ended' | 'failed'>> = {
  Inactive: 'none',
  Starting: 'open',
  Active: 'open',
  Stopped: 'ended',
  Error: 'failed',
}

/** True for each phase in which players and bots may join a world. */
const joinableIn: Readonly<Record<WorldPhase, boolean>> = {
  Inactive: false,
  Starting: false,
  Active: true,
  Stopped: false,
  Error: false,
}

/** The state of the run of a deployment with each status. Its server waits until it is on a node. */
const runWith: Readonly<Record<DeploymentStatus, 'waiting' | 'open' | 'ended' | 'failed'>> = {
  Unknown: 'open',
  Pending: 'waiting',
  Starting: 'open',
  Running: 'open',
  Restarting: 'open',
  Stopping: 'open',
  Stopped: 'ended',
  Error: 'failed',
}

/** The state of the bots in each phase. They wait for their world or for room in it. */
const botsIn: Readonly<Record<BotPhase, 'waiting' | 'open' | 'ended' | 'failed'>> = {
  Pending: 'waiting',
  Starting: 'open',
  Running: 'open',
  Stopping: 'open',
  Stopped: 'ended',
  Error: 'failed',
}

const keysWith = <Key extends string, Value>(table: Readonly<Record<Key, Value>>, ...values: Value[]): Key[] =>
  (Object.keys(table) as Key[]).filter((key) => values.includes(table[key]))

/** The phases of a world that never ran. */
export const unusedPhases: readonly WorldPhase[] = keysWith(lastRunIn, 'none')
/** The phases of a world whose last run has not ended. */
export const runningPhases: readonly WorldPhase[] = keysWith(lastRunIn, 'open')
/** The phases of a world that players and bots may join. */
export const joinablePhases: readonly WorldPhase[] = keysWith(joinableIn, true)
/** The statuses of a deployment whose server is not on a node yet. */
export const waitingStatuses: readonly DeploymentStatus[] = keysWith(runWith, 'waiting')
/** The statuses of a deployment whose run has ended and has no server left. */
export const endedStatuses: readonly DeploymentStatus[] = keysWith(runWith, 'ended', 'failed')
/** The phases of a bot deployment whose bots have ended. */
export const endedBotPhases: readonly BotPhase[] = keysWith(botsIn, 'ended', 'failed')

/** Reports whether the last run of a world has not ended. */
export const isRunning = ({ phase }: { readonly phase: WorldPhase }): boolean => lastRunIn[phase] === 'open'

/** Reports whether players and bots may join a world. Without a phase they may not. */
export const isJoinable = ({ phase }: { readonly phase?: WorldPhase }): boolean =>
  phase !== undefined && joinableIn[phase]

/** Reports whether the run of a deployment has ended and has no server left. */
export const hasEnded = ({ status }: { readonly status: DeploymentStatus }): boolean => endedStatuses.includes(status)

/** Reports whether the run of a deployment has ended in an error. */
export const hasFailed = ({ status }: { readonly status: DeploymentStatus }): boolean => runWith[status] === 'failed'

/** Reports whether the bots of a bot deployment have ended. Without a phase they have not. */
export const haveBotsEnded = ({ phase }: { readonly phase?: BotPhase }): boolean =>
  phase !== undefined && endedBotPhases.includes(phase)

/** Reports whether the bots of a bot deployment wait for their world or for room in it. */
export const doBotsWait = ({ phase }: { readonly phase?: BotPhase }): boolean =>
  phase !== undefined && botsIn[phase] === 'waiting'
