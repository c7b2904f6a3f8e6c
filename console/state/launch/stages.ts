import type { Row } from '#console/state/row.ts'
import type { WorldReason } from '#shared/why/reasons.ts'
import { waitingFor } from '#shared/why/wording.ts'

/** The stages of a run, in their order: the first three follow each other, and the last two are the ways in which a run ends. */
export const stages = ['pending', 'starting', 'active', 'error', 'ended'] as const
export type Stage = (typeof stages)[number]

/** The name of each stage, what it means, and the phases of its worlds as the filter of the fleet writes them. */
export const stageTexts: Readonly<
  Record<Stage, { readonly name: string; readonly text: string; readonly phase: string }>
> = {
  pending: {
    name: 'Pending',
    text: 'The run was requested. No node is reported to have its server.',
    phase: 'Starting',
  },
  starting: { name: 'Starting', text: 'A node has or had the server. Players cannot enter yet.', phase: 'Starting' },
  active: { name: 'Active', text: 'The server was ready, and the run goes on.', phase: 'Active' },
  error: { name: 'Error', text: 'The server was not ready in time, or failed too often.', phase: 'Error' },
  ended: { name: 'Ended', text: 'The run was stopped, or is over.', phase: 'Stopped,Inactive' },
}

/** The reasons of a start without a node for the server: it waits for one, or the cluster does not accept what it needs. */
const reasonsWithoutNode: ReadonlySet<string> = new Set<WorldReason>([
  'AdmissionRefused',
  'HostPortNotAllowed',
  'HostPortPending',
  'ImageNotAllowed',
  'NameNotAllowed',
  'NotPermitted',
  'PodNameTaken',
  'PortTaken',
  'PortsExhausted',
  'PreviousRun',
  'PushRefused',
  'QuotaExceeded',
  'RouteNotAvailable',
  'SchedulingGated',
  'SizeNotAllowed',
  'Unschedulable',
  'WaitingForApi',
])

const serverStarts = waitingFor('server')

/** Returns the stage of the present run of a world. */
export const stageOf = ({ phase, reason, message }: Pick<Row, 'phase' | 'reason' | 'message'>): Stage => {
  if (phase === 'Active') return 'active'
  if (phase === 'Error') return 'error'
  if (phase !== 'Starting') return 'ended'
  // Until the operator reports, the status has no reason. Before the server has a node, the reason is Starting too.
  const isWithoutNode = ['', 'Starting'].includes(reason)
    ? !message.startsWith(serverStarts)
    : reasonsWithoutNode.has(reason)
  return isWithoutNode ? 'pending' : 'starting'
}
