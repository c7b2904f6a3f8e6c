/** The remedy for trouble that a tenant cannot resolve. */
export const askOperator = 'Ask the platform operator.'
/** The remedy for a server that has never answered the operator. */
export const checkQuery = 'Check runtime.query: its protocol and port must be those of the server.'
const checkLog = 'Check the log of the server.'

/** Remedies for the trouble of worlds and bots, for tenants, by the reason of the condition Degraded or LimitExceeded. */
const troubleRemedies = {
  AddressMissing: 'Wait, or ask the platform operator to check the node or the load balancer.',
  AdmissionRefused: askOperator,
  BotFailed: 'Check the log and the arguments of the bots.',
  ClusterIPsExhausted: 'Stop another world, or ask the platform operator for a larger range of ClusterIPs.',
  ContainerCannotStart: 'Check the image and its arguments.',
  CrashLoop: checkLog,
  Evicted: 'Wait for its replacement.',
  HostPortNotAllowed: 'Choose another networking strategy, or ask the platform operator to allow host ports.',
  ImageNotAllowed: 'Use an image of an allowed registry, or ask the platform operator to allow its registry.',
  ImagePullFailed: 'Check the image of the build, and that its registry can be reached.',
  MaxBotsPerWorld: 'Lower the count, or choose a larger scaling profile for the world.',
  NameNotAllowed:
    'Choose another networking strategy, or create the world under a name of a-z, 0-9 and - that begins with a letter.',
  NamespaceTerminating: askOperator,
  NodeLost: 'Wait for its replacement.',
  NodePortsExhausted: 'Stop another world, or ask the platform operator for more node ports.',
  NodeRefused: 'Wait for its replacement.',
  NodeUnreachable: 'Wait for the node to return, or ask the platform operator.',
  NoImage: askOperator,
  NotPermitted: askOperator,
  NotReadyInTime: checkLog,
  OutOfMemory: 'Choose a larger scaling profile.',
  PodNameTaken: askOperator,
  PortsExhausted: 'Stop another world, or ask the platform operator for more ports or addresses.',
  PortTaken: 'Choose another host port, or ask the platform operator which world uses it.',
  QuotaExceeded: 'Stop other worlds or bots, or ask the platform operator.',
  Refused: askOperator,
  RestartBudget: 'Fix the last error, then start the world again.',
  RouteNameTaken: askOperator,
  RouteNotAccepted: askOperator,
  RouteNotAvailable: 'Choose another networking strategy, or ask the platform operator for a Gateway.',
  SchedulingGated: askOperator,
  ServerFailed: checkLog,
  ServerNotReady: checkLog,
  ServiceNameTaken: askOperator,
  SizeNotAllowed: 'Choose a smaller size, or ask the platform operator.',
  StartDeadline: 'Check that the server becomes ready, then start the world again.',
  TerminationStuck: askOperator,
  Unschedulable: 'Choose a smaller size, or ask the platform operator.',
} as const

/** Remedies of bots that differ from those of worlds. */
const botRemedies: Readonly<Record<string, string>> = {
  OutOfMemory: 'Raise the memory of the bots.',
  RestartBudget: 'Fix the last error. Then lower the count of the bots and raise it again.',
}

/** Remedies for the reasons of the condition Synced. */
const syncedRemedies = {
  EditRefused: 'Change the resource to a value that is allowed.',
  EditRefusedAgain: 'Change the value in the tool that writes it again and again.',
  LimitReached: 'Delete another one, choose a smaller size, or ask the platform operator to raise the limit.',
  NotAdopted: 'Change the resource to values that are allowed.',
  Orphan: askOperator,
  OrganizationDeleted: 'Ask the platform operator to restore the organization, or delete the resource.',
  ProjectNotFound: 'Correct the project label of the resource, or remove it.',
  PushRefused: askOperator,
  StartWaits: 'Wait, stop another world, or ask the platform operator to raise the limit.',
  Stranger: 'Delete the resource, and create it under another name.',
  WorldNotFound: 'Wait for the adoption of the World, or create it.',
} as const

/** Remedies for tenants, by the reason of a condition or an event. */
export const remedies = { ...troubleRemedies, ...syncedRemedies } as const

/** The reasons of trouble. Each has a remedy. */
export type TroubleReason = keyof typeof troubleRemedies

/** The reasons for which the condition Synced is False. Each has a remedy. */
export type SyncedReason = keyof typeof syncedRemedies

/** Returns what a tenant can do about the reason of an event or a condition of a world or its bots, or undefined if nothing is wrong. */
export const remedyOf = (reason: string, isOfBots = false): string | undefined => {
  const all: Readonly<Record<string, string>> = isOfBots ? { ...remedies, ...botRemedies } : remedies
  return Object.hasOwn(all, reason) ? all[reason] : undefined
}
