import type { Refusal } from '#api/domain/worlds/table.ts'
import type { Clock } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { Condition, KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { fieldManagers } from '#shared/resources/group.ts'
import type { SyncedReason } from '#shared/why/remedies.ts'

/** A resource with conditions in its status. */
export type WithStatus = KubeObject & {
  readonly status?: { readonly conditions?: readonly Condition[]; readonly worldId?: string }
}

/** The state of the condition Synced. */
export type SyncedState = { readonly message: string } & (
  | { readonly status: 'False'; readonly reason: SyncedReason }
  | { readonly status: 'True'; readonly reason: 'Synced' }
)

const maxMessageLength = 4_096

/** Returns the `worldId` that the status of the resource of a row shows. Undefined if it is the name of the resource. */
export const shownWorldId = (
  { id, resourceName }: { readonly id: string; readonly resourceName: string },
  worldId: string,
): string | undefined => (resourceName === id ? undefined : worldId)

/** The causes for which Synced is False: a push that the cluster refuses, an edit that was refused, or a start that waits. */
type Shown = {
  readonly pushRefusal: string | null
  readonly refusal: Refusal | null
  readonly waitsFor?: string | null | undefined
}

/** The reason while the cluster refuses what the API writes. */
export const pushRefusedReason = 'PushRefused'

/** The reason of a refused edit that is not put back. */
const leftReason = 'EditRefusedAgain'

/** Reports whether a resource shows a refusal, by a limit or the cluster, that can end without an event of the resource. */
export const mayBeAllowed = ({ status }: WithStatus): boolean =>
  status?.conditions?.some(({ reason }) => reason === leftReason || reason === pushRefusedReason) ?? false

/** Reports whether the condition Synced of a resource is False. */
export const isNotSynced = ({ status }: WithStatus): boolean =>
  status?.conditions?.some((each) => each.type === 'Synced' && each.status === 'False') ?? false

/** Returns the state of the first cause, or undefined if there is none. */
export const shownAs = ({ pushRefusal, refusal, waitsFor }: Shown): SyncedState | undefined => {
  // While it lasts, nothing that the API decides reaches the resource.
  if (pushRefusal !== null) return { status: 'False', reason: pushRefusedReason, message: pushRefusal }
  if (refusal !== null) {
    const left = refusal.isLeft ? ' It was written again after each refusal, so it was not put back.' : ''
    const reason = refusal.isLeft ? leftReason : 'EditRefused'
    return { status: 'False', reason, message: `${refusal.message}${left}`.slice(0, maxMessageLength) }
  }
  return waitsFor ? { status: 'False', reason: 'StartWaits', message: waitsFor } : undefined
}

const agreed: SyncedState = { status: 'True', reason: 'Synced', message: 'The resource and the API agree.' }

/**
 * Returns the condition to write, or undefined if the resource shows it. True is written only after False, or with
 * `worldId`, which a resource with another name than its id shows.
 */
export const findSyncedChange = (
  live: WithStatus,
  wanted: SyncedState | undefined,
  worldId?: string,
): SyncedState | undefined => {
  const shown = live.status?.conditions?.find(({ type }) => type === 'Synced')
  const isIdMissing = worldId !== undefined && live.status?.worldId !== worldId
  if (wanted === undefined) return shown?.status === 'False' || isIdMissing ? agreed : undefined
  const isShown = shown?.status === wanted.status && shown.reason === wanted.reason && shown.message === wanted.message
  return isShown && !isIdMissing ? undefined : wanted
}

/** Reports whether a comparison with the row would leave the condition and the `worldId` of a resource as they are. */
export const isSettled = (
  live: WithStatus,
  row: Shown & Parameters<typeof shownWorldId>[0],
  worldId: string,
): boolean =>
  // A later revision clears a refusal.
  row.refusal === null && findSyncedChange(live, shownAs(row), shownWorldId(row, worldId)) === undefined

/**
 * Writes the condition Synced of a resource, and its worldId if it shows one. A resource that is gone is not an error. The condition
 * has no observedGeneration: it stays while the generation grows, and `kubectl wait` would take it for outdated.
 */
export const writeSynced = async <T extends WithStatus>(
  client: Client<T>,
  live: T,
  { state, worldId }: { state: SyncedState; worldId?: string | undefined },
  clock: Pick<Clock, 'now'>,
): Promise<void> => {
  const { name, namespace, uid } = live.metadata
  const shown = live.status?.conditions?.find(({ type }) => type === 'Synced')
  const lastTransitionTime =
    shown?.status === state.status ? shown.lastTransitionTime : `${new Date(clock.now()).toISOString().slice(0, 19)}Z`
  const condition = { type: 'Synced', ...state, lastTransitionTime }
  try {
    await client.applyStatus(
      {
        apiVersion: live.apiVersion,
        kind: client.resource.kind,
        metadata: withDefined({ name, namespace, uid }),
        status: { conditions: [condition], ...withDefined({ worldId }) },
      },
      { fieldManager: fieldManagers.api, force: true },
    )
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
