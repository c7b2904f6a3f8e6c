/** The remedy for trouble that a tenant cannot resolve. */
export const askOperator = 'Ask the platform operator.'
const checkLog = 'Check the log of the server.'

/** Remedies for the trouble that a condition names, for tenants, by the reason of the condition. */
export const remedies = {
  AddressMissing: 'Wait, or ask the platform operator to check the node or the load balancer.',
  AdmissionRefused: askOperator,
  BotFailed: 'Check the log and the arguments of the bots.',
  ClusterIPsExhausted: 'Stop another world, or ask the platform operator for a larger range of ClusterIPs.',
  ContainerCannotStart: 'Check the image and its arguments.',
  CrashLoop: checkLog,
  EditRefused: 'Change the resource to a value that is allowed.',
  Evicted: 'Wait. The server or bot is replaced.',
  HostPortNotAllowed: 'Choose another networking strategy, or ask the platform operator to allow host ports.',
  ImageNotAllowed: 'Use an image of an allowed registry, or ask the platform operator to allow its registry.',
  ImagePullFailed: 'Check the image of the build, and that its registry can be reached.',
  LimitReached: 'Stop another world, or ask the platform operator to raise the limit.',
  MaxBotsPerWorld: 'Lower the count, or choose a larger scaling profile for the world.',
  NameNotAllowed: 'Create the world under a name of a-z, 0-9 and - that begins with a letter.',
  NamespaceTerminating: askOperator,
  NodeLost: 'Wait. The server or bot is replaced.',
  NodePortsExhausted: 'Stop another world, or ask the platform operator for more node ports.',
  NodeRefused: 'Wait. The server or bot is replaced.',
  NodeUnreachable: 'Wait for the node to return, or ask the platform operator.',
  NoImage: askOperator,
  NotPermitted: askOperator,
  NotReadyInTime: checkLog,
  OutOfMemory: 'Choose a larger scaling profile for a server, or more memory for bots.',
  PodNameTaken: askOperator,
  PortsExhausted: 'Stop another world, or ask the platform operator for more ports or addresses.',
  PortTaken: 'Choose another host port, or ask the platform operator which world uses it.',
  QuotaExceeded: 'Stop other worlds or bots, or ask the platform operator.',
  Refused: askOperator,
  RestartBudget: 'Fix the last error. Then start the world again, or for bots lower the count and raise it again.',
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

/** The reasons of trouble. Each has a remedy. */
export type TroubleReason = keyof typeof remedies

/** Remedies for the reasons why the API does not adopt a resource that was created with kubectl. */
const adoptionRemedies = {
  LimitReached: 'Delete another one, choose a smaller size, or ask the platform operator to raise the limit.',
  NotAdopted: 'Change the resource to values that are allowed.',
  OrganizationDeleted: 'Ask the platform operator to restore the organization, or delete the resource.',
  ProjectNotFound: 'Correct the project label of the resource, or remove it.',
  WorldNotFound: 'Wait for the adoption of the World, or create it.',
} as const

/** The reasons why the API does not adopt a resource. The condition Synced has them. */
export type AdoptionReason = keyof typeof adoptionRemedies

const find = (all: Readonly<Record<string, string>>, reason: string): string | undefined =>
  Object.hasOwn(all, reason) ? all[reason] : undefined

/** Returns what a tenant can do about the reason of an event or a condition, or undefined if nothing is wrong. */
export const remedyOf = (reason: string, condition?: string): string | undefined =>
  (condition === 'Synced' ? find(adoptionRemedies, reason) : undefined) ?? find(remedies, reason)
