import type { Phase, Row } from './row.ts'

/** The reasons of a world that only waits, as docs/worlds.md lists them. */
const temporaryReasons: ReadonlySet<string> = new Set([
  'Starting',
  'PreviousRun',
  'ServerDeleted',
  'AddressPending',
  'LoadBalancerPending',
  'HostPortPending',
  'RoutePending',
  'WaitingForApi',
  'Deleting',
  'Paused',
])

/** Reports whether a reason passes without an action of a user. */
export const isTemporary = (reason: string): boolean => temporaryReasons.has(reason)

/** The phases in the order in which they need attention. */
export const phases: readonly Phase[] = ['Error', 'Starting', 'Active', 'Inactive', 'Stopped']

const ranks: Readonly<Record<Phase, number>> = { Error: 0, Starting: 2, Active: 3, Inactive: 4, Stopped: 4 }

/**
 * Returns the place of a world in the default order: 0 for the phase Error, 1 for a reason that is not temporary, 2 for Starting, 3
 * for Active and 4 for a world that does not run.
 */
export const attentionRank = ({ phase, reason }: Row): number =>
  phase !== 'Error' && reason !== '' && !isTemporary(reason) ? 1 : ranks[phase]
