import type { SyncedReason, TroubleReason } from './remedies.ts'

/** The reasons of a wait that ends by itself. */
export type TemporaryReason =
  | 'AddressPending'
  | 'Deleting'
  | 'HostPortPending'
  | 'LoadBalancerPending'
  | 'Paused'
  | 'PreviousRun'
  | 'RoutePending'
  | 'ServerDeleted'
  | 'Starting'
  | 'WaitingForApi'

/** The reasons of a state that lasts until a user changes it. */
type FinalReason = 'Completed' | 'Expired' | 'Idle' | 'NeverStarted' | 'ServerReady' | 'Stopped'

/** The reasons of a resource without a row. REST shows no world with them. */
type RowlessReason =
  | 'LimitReached'
  | 'NotAdopted'
  | 'OrganizationDeleted'
  | 'Orphan'
  | 'ProjectNotFound'
  | 'Stranger'
  | 'WorldNotFound'

/** The reasons of bots. No world has them. */
type BotReason = 'BotFailed' | 'MaxBotsPerWorld' | 'NoImage'

/** The reasons of the conditions of a world in REST. docs/worlds.md explains each. */
export type WorldReason =
  | Exclude<TroubleReason, BotReason>
  | Exclude<SyncedReason, RowlessReason>
  | TemporaryReason
  | FinalReason

/** The kinds of action on a world. */
export const actionKinds = ['start', 'stop', 'restart', 'readLog', 'edit', 'askOperator', 'wait'] as const

/** The members of the body of `patchWorld` that an edit can change to resolve trouble. */
export const editedFields = [
  'compute',
  'networking.ports',
  'networking.scaling.profile',
  'networking.strategy',
  'runtime.build',
] as const

/** An action that helps. `field` is what an edit changes. */
export type Action =
  | { readonly kind: Exclude<(typeof actionKinds)[number], 'edit'> }
  | { readonly kind: 'edit'; readonly field: (typeof editedFields)[number] }

type Step = Exclude<Action['kind'], 'edit'> | (typeof editedFields)[number]

/** The steps that resolve each reason, the most promising first. An entry that is a field is an edit of it. */
const steps: Readonly<Record<WorldReason, readonly Step[]>> = {
  AddressMissing: ['wait', 'askOperator'],
  AddressPending: ['wait'],
  AdmissionRefused: ['askOperator'],
  ClusterIPsExhausted: ['askOperator'],
  Completed: ['start'],
  ContainerCannotStart: ['runtime.build', 'askOperator'],
  CrashLoop: ['readLog'],
  Deleting: ['wait'],
  EditRefused: [],
  EditRefusedAgain: [],
  Evicted: ['wait'],
  Expired: ['start'],
  HostPortNotAllowed: ['networking.strategy', 'askOperator'],
  HostPortPending: ['wait'],
  Idle: ['start'],
  ImageNotAllowed: ['runtime.build', 'askOperator'],
  ImagePullFailed: ['runtime.build', 'askOperator'],
  LoadBalancerPending: ['wait'],
  NameNotAllowed: ['networking.strategy'],
  NamespaceTerminating: ['askOperator'],
  NeverStarted: ['start'],
  NodeLost: ['wait'],
  NodePortsExhausted: ['askOperator'],
  NodeRefused: ['wait'],
  NodeUnreachable: ['wait', 'askOperator'],
  NotPermitted: ['askOperator'],
  NotReadyInTime: ['readLog'],
  OutOfMemory: ['networking.scaling.profile', 'readLog'],
  Paused: [],
  PodNameTaken: ['askOperator'],
  PortTaken: ['networking.ports', 'askOperator'],
  PortsExhausted: ['networking.ports', 'askOperator'],
  PreviousRun: ['wait'],
  PushRefused: ['askOperator'],
  QuotaExceeded: ['askOperator'],
  Refused: ['askOperator'],
  RestartBudget: ['start', 'readLog'],
  RouteNameTaken: ['askOperator'],
  RouteNotAccepted: ['askOperator'],
  RouteNotAvailable: ['networking.strategy', 'askOperator'],
  RoutePending: ['wait'],
  SchedulingGated: ['askOperator'],
  ServerDeleted: ['wait'],
  ServerFailed: ['readLog'],
  ServerNotReady: ['readLog', 'restart'],
  ServerReady: [],
  ServiceNameTaken: ['askOperator'],
  SizeNotAllowed: ['networking.scaling.profile', 'askOperator'],
  StartDeadline: ['start', 'readLog'],
  StartWaits: ['wait', 'stop', 'askOperator'],
  Starting: ['wait'],
  Stopped: ['start'],
  TerminationStuck: ['askOperator'],
  Unschedulable: ['networking.scaling.profile', 'compute', 'askOperator'],
  WaitingForApi: ['wait'],
}

/** The reasons of the conditions of a world. */
export const worldReasons = Object.keys(steps) as readonly WorldReason[]

const isEdited = (step: Step): step is (typeof editedFields)[number] =>
  (editedFields as readonly string[]).includes(step)

/** Returns the actions that resolve a reason, the most promising first. An unknown reason has none. */
export const actionsFor = (reason: string): Action[] => {
  const all: Readonly<Record<string, readonly Step[]>> = steps
  const found = Object.hasOwn(all, reason) ? (all[reason] ?? []) : []
  return found.map((step) => (isEdited(step) ? { kind: 'edit', field: step } : { kind: step }))
}
