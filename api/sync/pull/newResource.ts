import { Problem } from '#api/platform/http/problem.ts'
import type { KubeObject, ObjectMeta } from '#shared/kube/objects.ts'
import { apiFinalizer, isPaused, labels } from '#shared/resources/group.ts'
import type { AdoptionReason } from '#shared/resources/remedies.ts'
import type { SyncedState } from './syncedCondition.ts'

/** The reason why a new resource cannot be adopted. It rolls the transaction of the adoption back. */
export class NotAdopted extends Error {
  override name = 'NotAdopted'
  readonly state: SyncedState

  constructor(reason: AdoptionReason, message: string) {
    super(message)
    this.state = { status: 'False', reason, message: message.slice(0, 4_096) }
  }
}

/** Reports whether a resource was created with kubectl and may be adopted. Marks of the API belong to an orphan. */
export const isNewResource = (live: KubeObject): boolean =>
  live.metadata.deletionTimestamp === undefined && !isPaused(live) && !hasApiMarks(live)

/**
 * Reports whether the API made a resource, or has had a row for it. A revision is no such mark: anyone may write one in the
 * spec of a new resource, and its row continues above it.
 */
export const hasApiMarks = ({ metadata }: KubeObject): boolean =>
  metadata.finalizers?.includes(apiFinalizer) === true || metadata.labels?.[labels.managedBy] === 'orrery-api'

/** The state of a new resource in the namespace of a deleted organization. */
export const { state: organizationDeleted } = new NotAdopted(
  'OrganizationDeleted',
  'The organization was deleted. The resource is not adopted, and nothing runs in its namespace.',
)

/**
 * Throws `NotAdopted` for a new resource whose name is an id that another resource has. The other one may have lost its row,
 * as after a restore of the database, and is then the rightful owner of the id.
 */
export const refuseRivalId = ({ name }: ObjectMeta, rival: string | undefined): void => {
  if (rival === undefined) return
  throw new NotAdopted('NotAdopted', `The name ${name} is an id that another resource has. Choose another name.`)
}

/** Runs an adoption. Returns why the resource is not adopted instead of throwing it; a limit of REST is a reason too. */
export const tryAdoption = async <T>(adopt: () => Promise<T>): Promise<T | SyncedState> => {
  try {
    return await adopt()
  } catch (error) {
    if (error instanceof NotAdopted) return error.state
    if (error instanceof Problem) return new NotAdopted('LimitReached', error.message).state
    throw error
  }
}

/** Returns the message for a new resource with these refused fields. It is left as it is. */
export const explainNotAdopted = (reasons: readonly string[]): string =>
  reasons.join(' ').replaceAll(/ (?:cannot be read and )?(was|were) put back: /g, ' $1 refused: ')
