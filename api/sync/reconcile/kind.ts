import type { Deps } from '#api/domain/access/context.ts'
import type { Deletion } from '#api/domain/deletion/deletion.ts'
import type { Refusal, WorldRow } from '#api/domain/worlds/table.ts'
import type { Database, Queries, Transaction } from '#api/platform/database/client.ts'
import type { ClusterGate } from '#api/sync/clusters/clusterGate.ts'
import type { ContainerClients } from '#api/sync/clusters/deletionCause.ts'
import type { Leadership } from '#api/sync/clusters/leader.ts'
import type { Revisioned, Seen, Sides } from '#api/sync/merge/merge.ts'
import type { Changes, Verdict } from '#api/sync/merge/observe.ts'
import type { Kind, SyncedRow } from '#api/sync/rows/synced.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import type { Clients } from '#shared/resources/clients.ts'
import type { Readable } from '#shared/resources/read.ts'
import type { World } from '#shared/resources/world.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import type { Findings } from './findings.ts'
import type { WithStatus } from './syncedCondition.ts'

/** The part of the dependencies that the limits of edits need. */
export type LimitDeps = Pick<Deps, 'defaultLimits' | 'clusterOf' | 'startsPerMinute'>

/** The dependencies of the comparison of a resource with its row. */
export type ReconcileDeps = ContainerClients &
  LimitDeps & {
    readonly db: Database
    /** Runs a transaction. That of pull fails unless this replica is the leader. */
    readonly transaction: Leadership['transaction']
    readonly clients: Clients
    readonly cluster: string
    readonly profiles: ScalingProfiles
    readonly tracing: Tracing
    readonly namespacePrefix: string
    /** The time for which deleted rows are kept. */
    readonly keepDeletedMs: number
    readonly findings: Pick<Findings, 'report'>
    /** Called with a World whose status tells of a run. */
    readonly noteRun: (row: WorldRow, live: World) => void
    readonly events: Pick<EventRecorder, 'record'>
    readonly clock: Clock
    readonly newId: NewId
    readonly log: Log
    readonly gate: ClusterGate
    /** Called after a commit that marked a row dirty. */
    readonly wake: () => void
  }

/** The dependencies of a new row. */
export type NewRowDeps = LimitDeps & Pick<ReconcileDeps, 'cluster' | 'clock' | 'newId'>

/** The types of a kind. `columns` are those of its table, `edit` and `state` the parts of its verdicts. */
export type Types = {
  readonly live: WithStatus & {
    readonly spec: Revisioned
    readonly status?: { readonly phase?: string; readonly observedRevision?: number }
  }
  readonly row: SyncedRow & {
    readonly removedAt: Date | null
    readonly refusal: Refusal | null
    readonly waitsFor?: string | null
  }
  /** The columns of a row that push needs. */
  readonly pushed: SyncedRow & {
    readonly phase: string
    readonly removedAt: Date | null
    readonly runRevision?: number
  }
  readonly spec: Revisioned & object
  readonly columns: object
  readonly edit: unknown
  readonly state: { readonly observed?: object }
}

/** The columns that a comparison can change in a row of any kind. */
export type CommonColumns<Spec> = {
  readonly resourceUid: string | null
  readonly appliedResourceVersion: string | null
  readonly revision: number
  readonly resourceName?: string
  readonly applied?: Spec
  readonly refusal?: Refusal | null
  readonly updatedAt?: Date
}

/** A changed row in its transaction. `row` is the row before the change. */
export type Change<T extends Types> = {
  readonly row: T['row']
  readonly live: T['live']
  readonly now: Date
}

/** A resource without a row. Its name is the id of the row, if it is an id of the kind. */
export type NewResource<T extends Types> = {
  readonly organizationId: string
  readonly metadata: ObjectMeta
  readonly spec: T['live']['spec']
}

/** All that the comparison of a resource with its row must know of a kind. */
export interface Adapter<T extends Types> {
  readonly kind: Kind
  readonly clientOf: (deps: Pick<ReconcileDeps, 'clients'>) => Client<T['live']>
  /** Returns the rows with some ids, as push needs them. */
  readonly readPushed: (db: Queries, ids: readonly string[]) => Promise<T['pushed'][]>
  /** Returns the canonical spec of a row. */
  readonly toSpec: (row: T['pushed']) => T['spec']
  /** Returns the labels of a row's resource beside those that every kind has. */
  readonly labelsOf?: (row: T['pushed']) => Record<string, string>
  /** Reports whether pull would ignore the status of the applied resource. */
  readonly isStatusIgnored: (row: T['pushed'], applied: T['live']) => boolean
  /** Returns the resource without the fields that the schema refuses. */
  readonly read: (live: T['live']) => Readable<T['live']>
  /** Returns the row, locked until the end of the transaction, and reports whether a push of it is pending. */
  readonly lock: (
    tx: Transaction,
    id: string,
    see: () => Seen<T['live']>,
  ) => Promise<{ readonly row: T['row']; readonly isDirty: boolean } | undefined>
  /** Adds the row of a resource without one, with the defaults of REST. Throws `NotAdopted`, or a `Problem` at a limit. */
  readonly insert: (deps: NewRowDeps, tx: Transaction, made: NewResource<T>) => Promise<T['row']>
  /** Returns the resource to merge into its new row. Throws `NotAdopted` if it may not have a row. */
  readonly toNew?: (deps: ReconcileDeps, tx: Transaction, row: T['row'], live: T['live']) => Promise<T['live']>
  /** Returns the run of a resource, as columns and as a part of a spec. A recovered row continues with it. */
  readonly runOf: (live: T['live']) => { readonly columns: T['columns']; readonly spec: Partial<T['spec']> }
  /** Sets columns of the row with an id. */
  readonly update: (
    tx: Transaction,
    id: string,
    columns: T['columns'] & Partial<CommonColumns<T['spec']>>,
  ) => Promise<unknown>
  /** Marks a row as deleting and dirty, with all that belongs to it. */
  readonly markDeleting: (tx: Transaction, row: SyncedRow, deletion: Deletion) => Promise<unknown>
  /** The parts of a move to another cluster. */
  readonly move: {
    /** The pods that the move waits for. */
    readonly holder: string
    /** Returns the cluster that the row moves to: null if it stays, 'later' if it waits for another row. Records it first. */
    readonly findTarget: (db: Database, row: T['pushed']) => Promise<string | 'later' | null>
    /** Makes what belongs to the row move too. */
    readonly begin?: (db: Database, id: string, target: string) => Promise<void>
    /** Changes what names the resource of the row, which has its id as its name in the other cluster. */
    readonly finish?: (tx: Transaction, id: string) => Promise<void>
  }
  /** Returns the sides of the merge, or undefined if the managed fields of the resource must be read first. */
  readonly sidesOf: (row: T['row'], seen: Seen<T['live']>) => Sides<T['spec']> | undefined
  /** Compares the resource with its row. Reads what the rules for edits depend on if `hasEdits`. `lost` is the reason of an unintended deletion. */
  readonly decide: (
    deps: ReconcileDeps,
    tx: Transaction,
    row: T['row'],
    input: {
      readonly seen: Seen<T['live']>
      readonly sides: Sides<T['spec']> | undefined
      readonly hasEdits: boolean
      readonly isDirty: boolean
      readonly lost?: string | undefined
    },
  ) => Promise<Verdict<T['edit'], T['state']>>
  /** Returns the columns that an edit sets, apart from `CommonColumns`. Undefined if the row cannot be edited. */
  readonly toColumns: (
    deps: ReconcileDeps,
    tx: Transaction,
    change: Change<T>,
    edit: { readonly edit: T['edit']; readonly revision: number },
  ) => Promise<T['columns'] | undefined>
  /** Returns the columns of a deletion with kubectl, and the change to audit. */
  readonly deletionOf: (
    deps: ReconcileDeps,
    row: T['row'],
  ) => { readonly columns: T['columns']; readonly change: 'deletion' | 'expiry' }
  /** Returns the base of the next comparison after a merge. */
  readonly toBase: (live: T['live'], after: T['row']) => T['spec']
  /** Writes columns to the row, and what the status tells beside it. */
  readonly write: (
    deps: ReconcileDeps,
    tx: Transaction,
    change: Change<T>,
    written: {
      readonly common: CommonColumns<T['spec']>
      readonly columns: T['columns'] | undefined
      readonly state: T['state']
    },
  ) => Promise<unknown>
  /** Writes what follows from an edit or a deletion, after `write`. */
  readonly follow?: (
    deps: ReconcileDeps,
    tx: Transaction,
    change: Change<T> & { readonly after: T['row'] },
    verdict: Changes<T['edit'], T['state']>,
  ) => Promise<void>
  /** The id of the world that the resource shows. */
  readonly worldIdOf: (row: T['row']) => string
  /** Returns the row's new phase, if it is the answer to the change that the resource carries. */
  readonly answerOf?: (row: T['row'], live: T['live'], state: T['state']) => string | undefined
}
