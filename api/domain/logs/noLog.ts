import type { DeploymentRow } from '#api/domain/worlds/table.ts'

/** The ends of a run for which its server is stopped, so that nobody reads its log. */
const stops: readonly DeploymentRow['endReason'][] = ['Stopped', 'Expired', 'Idle', 'Superseded']

/** Returns why a run that has ended has no log, for a response. */
export const explainNoLog = (endReason: DeploymentRow['endReason']): string =>
  stops.includes(endReason)
    ? 'The log of this run is gone: its server was stopped, and Orrery keeps the log only of a server that failed or ended by itself. Read the log while the server runs.'
    : 'The log of this run is gone: its server ended, but its node did not send the log in time, or 10 newer logs of this world have replaced it. The events and the exit code of the run may say why it ended.'
