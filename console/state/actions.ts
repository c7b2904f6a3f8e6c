import type { World } from '#client/operations.ts'
import type { editedFields } from '#shared/why/reasons.ts'
import type { Phase } from './row.ts'
import type { Failure } from './texts.ts'

/** The actions on a world that the page does itself. */
export type ActionKind = 'start' | 'wake' | 'stop' | 'restart' | 'delete' | 'restore'

type Action = {
  readonly label: string
  readonly operationId: 'startWorld' | 'wakeWorld' | 'stopWorld' | 'deleteWorld' | 'restoreWorld'
  /** The text from the click until the page shows the effect. */
  readonly progress: string
  /** The request is refused if the world was started or stopped after the page read it. */
  readonly isConditional: boolean
}

/**
 * A start ends the present run, and a deletion ends the world. Both would undo a start or stop by another user that the page does not show
 * yet, so they are conditional. A stop is never refused: a second stop does no harm, and it may be urgent. A wake of a world that does not
 * sleep changes nothing.
 */
export const actions: Readonly<Record<ActionKind, Action>> = {
  start: { label: 'Start', operationId: 'startWorld', progress: 'Starting', isConditional: true },
  wake: { label: 'Wake', operationId: 'wakeWorld', progress: 'Waking', isConditional: false },
  restart: { label: 'Restart', operationId: 'startWorld', progress: 'Restarting', isConditional: true },
  stop: { label: 'Stop', operationId: 'stopWorld', progress: 'Stopping', isConditional: false },
  delete: { label: 'Delete', operationId: 'deleteWorld', progress: 'Deleting', isConditional: true },
  restore: { label: 'Undo the deletion', operationId: 'restoreWorld', progress: 'Restoring', isConditional: false },
}

/** The phase of a world as it decides about the actions. Asleep is Stopped in a world that sleeps and that its users may wake. */
export type ActionPhase = Phase | 'Asleep'

/** Returns the phase for the actions. `phase` may be newer than the world, as it was read. */
export const actionPhaseOf = (phase: Phase, world: Pick<World, 'status' | 'runtime'> | undefined): ActionPhase => {
  const isAsleep = phase === 'Stopped' && world?.status.idle?.asleepSince !== undefined
  return isAsleep && world.runtime.wakeOnAccess === 'Access' ? 'Asleep' : phase
}

// A stop keeps users from waking the world. A start needs more rights than a wake, but fewer wakes are permitted in a minute.
const kindsIn: Readonly<Record<ActionPhase, readonly ActionKind[]>> = {
  Inactive: ['start', 'delete'],
  Starting: ['restart', 'stop', 'delete'],
  Active: ['restart', 'stop', 'delete'],
  Stopped: ['start', 'delete'],
  Error: ['start', 'delete'],
  Asleep: ['start', 'wake', 'stop', 'delete'],
}

/** Reports whether an action of an explanation is a button, so that nothing else shows it. */
export const isButton = (kind: string): boolean => kind === 'edit' || Object.hasOwn(actions, kind)

const editNames: Readonly<Record<(typeof editedFields)[number], string>> = {
  compute: 'Choose another place',
  'networking.ports': 'Choose other ports',
  'networking.scaling.profile': 'Choose a smaller profile',
  'networking.strategy': 'Choose another networking strategy',
  'runtime.build': 'Choose another build',
}

/** Returns the name of an edit that resolves a reason. `field` is what it changes, such as `networking.ports`. */
export const nameEdit = (field: string, reason: string): string => {
  if (reason === 'OutOfMemory' && field === 'networking.scaling.profile') return 'Choose a larger profile'
  return Object.hasOwn(editNames, field) ? editNames[field as keyof typeof editNames] : 'Edit the settings'
}

/** An action that a phase permits. `isAdvised` if it is the next step to resolve the state of the world. */
export type Offer = { readonly kind: ActionKind; readonly isAdvised: boolean }

/**
 * Returns the actions that a phase permits. The phase is newer than the explanation, so the explanation only says which of them help.
 * A start and a restart are the same request, and a wake is a start too. None helps before an edit that is advised.
 */
export const offersIn = (phase: ActionPhase, advised: readonly string[]): readonly Offer[] => {
  const isRun = !advised.includes('edit') && (advised.includes('start') || advised.includes('restart'))
  return kindsIn[phase].map((kind) => ({
    kind,
    isAdvised: ['start', 'restart', 'wake'].includes(kind) ? isRun : advised.includes(kind),
  }))
}

/** The version of a world in the feed, '' for none, and the entity tag with which the page read it last, '' for none. */
export type Seen = { readonly version: string; readonly etag: string }

/** An entity tag is a revision, a dot, and a hash. The status changes only the hash. */
const revisionOf = (etag: string): string => etag.slice(0, etag.indexOf('.'))

/**
 * Reports whether the page shows the effect of an accepted action: the feed has changed, and the world was read again with another
 * revision, so that the next action can be conditional. Other changes of the status do not count.
 */
export const isShown = (kind: ActionKind, { before, now }: { readonly before: Seen; readonly now: Seen }): boolean => {
  // Before the feed has shown the world, its absence says nothing.
  if (now.version === '') return kind === 'delete' || (kind !== 'restore' && before.version !== '')
  return kind !== 'delete' && now.version !== before.version && revisionOf(now.etag) !== revisionOf(before.etag)
}

/** The number of attempts of a restore, one a second. A server may take this long to drain. */
const maxAttempts = 90

/** Returns the milliseconds until a refused restore is tried again, or undefined. It waits while the cluster still removes the world. */
export const delayOfRestore = ({ status, code }: Failure, attempts: number): number | undefined =>
  status === 409 && code === 'conflict' && attempts < maxAttempts ? 1_000 : undefined

/** The state in which a restore brings a world back. */
export const restoredState =
  'It comes back with its settings, bots, documents and runs, but inactive, private and without a server: start it afterwards.'

/** Returns the note on a deletion that the caller could not undo, from the permission that a restore needs. */
export const explainNoUndo = (refusal: string): string =>
  `This sign-in cannot undo a deletion. That ${refusal.charAt(0).toLowerCase()}${refusal.slice(1)}`
