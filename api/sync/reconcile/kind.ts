import type { Deps } from '#api/domain/access/context.ts'
import type { Deletion } from '#api/domain/deletion/deletion.ts'
import type { Refusal, WorldRow } from '#api/domain/worlds/table.ts'
import type { Database, Queries, Transaction } from '#api/platform/database/client.ts'
import type { ClusterGate } from '#api/sync/clusters/clusterGate.ts'
import type { ContainerClients } from '#api/sync/clusters/deletionCause.ts'
import type { Leadership } from '#api/sync/clusters/leader.ts'
import type { Revisioned, Seen, Sides } from '#api/sync/merge/merge.ts'
import type { Verdict } from '#api/sync/merge/observe.ts'
import type { Desire } from '#api/sync/rows/desired.ts'
import type { SyncedRow } from '#api/sync/rows/synced.ts'
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

/** The dependencies of a new row. */
export type NewRowDeps = Pick<Deps, 'defaultLimits' | 'clock' | 'newId'> & { readonly cluster: string }

/** The dependencies of the comparison of a resource with its row. */
export type ReconcileDeps = ContainerClients &
  NewRowDeps &
  Pick<Deps, 'clusterOf' | 'startsPerMinute' | 'hostPorts' | 'offersRoutes'> & {
    readonly db: Database
    /** Runs a transaction. That of pull fails unless this replica is the leader. */
    readonly transaction: Leadership['transaction']
    readonly clients: Clients
    readonly profiles: ScalingProfiles
    readonly tracing: Tracing
    readonly namespacePrefix: string
    /** The time for which deleted rows are kept. */
    readonly keepDeletedMs: number
    readonly findings: Pick<Findings, 'report'>
    /** Called with a World whose status has a run. */
    readonly noteRun: (row: WorldRow, live: World) => void
    readonly events: Pick<EventRecorder, 'record'>
    readonly log: Log
    readonly gate: ClusterGate
    /** Called after a commit that marked a row dirty. */
    readonly wake: () => void
  }

/**
 * The types of a kind. `facts` are what the rules for its edits depend on, `edit` and `state` are parts of its verdicts, `intent` has the
 * columns that an edit or a deletion sets, and what is recorded with them.
 */
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
  readonly intent: { readonly columns: object }
  readonly facts: object
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
export interface Adapter<T extends Types> extends Desire<T['pushed'], T['spec']> {
  readonly clientOf: (deps: Pick<ReconcileDeps, 'clients'>) => Client<T['live']>
  /** Returns the rows with some ids, as push needs them. */
  readonly readPushed: (db: Queries, ids: readonly string[]) => Promise<T['pushed'][]>
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
  readonly toNew: (deps: ReconcileDeps, tx: Transaction, row: T['row'], live: T['live']) => Promise<T['live']>
  /** Returns the run of a resource, as columns and as a part of a spec. A recovered row continues with it. */
  readonly runOf: (live: T['live']) => { readonly columns: T['intent']['columns']; readonly spec: Partial<T['spec']> }
  /** Sets columns of the row with an id. */
  readonly update: (
    tx: Transaction,
    id: string,
    columns: T['intent']['columns'] & Partial<CommonColumns<T['spec']>>,
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
  /** Reads what the rules for edits depend on. Locks the organization's row. */
  readonly readFacts: (deps: ReconcileDeps, tx: Transaction, row: T['row']) => Promise<T['facts']>
  /** Compares the resource with its row. `facts` are needed for edits. `lost` is the status message of an unintended deletion. */
  readonly observe: (
    row: T['row'],
    seen: Seen<T['live']>,
    isDirty: boolean,
    input: {
      readonly facts: T['facts'] | undefined
      readonly sides: Sides<T['spec']>
      readonly lost?: string | undefined
    },
  ) => Verdict<T['edit'], T['state']>
  /** Returns what an edit sets, apart from `CommonColumns`. Undefined if the row cannot be edited. */
  readonly toIntent: (
    deps: ReconcileDeps,
    tx: Transaction,
    change: Change<T>,
    edit: { readonly edit: T['edit']; readonly revision: number },
  ) => Promise<T['intent'] | undefined>
  /** Returns what a deletion with kubectl sets, and the change to audit. */
  readonly deletionOf: (
    deps: ReconcileDeps,
    row: T['row'],
  ) => { readonly intent: T['intent']; readonly change: 'deletion' | 'expiry' }
  /** Returns the base of the next comparison after a merge. */
  readonly toBase: (live: T['live'], after: T['row']) => T['spec']
  /** Writes columns to the row, and the deployments and events of the status and of a start or stop. */
  readonly write: (
    deps: ReconcileDeps,
    tx: Transaction,
    change: Change<T>,
    written: {
      readonly common: CommonColumns<T['spec']>
      readonly intent: T['intent'] | undefined
      readonly state: T['state']
    },
  ) => Promise<unknown>
  /** Deletes what a deleted row contains, after `write`. */
  readonly deleteContents?: (deps: ReconcileDeps, tx: Transaction, row: T['row']) => Promise<void>
  /** Returns the id of the world that the resource belongs to. */
  readonly worldIdOf: (row: T['row']) => string
  /** Returns the row's new phase, if it shows that the pushed change took effect. */
  readonly answerOf?: (row: T['row'], live: T['live'], state: T['state']) => string | undefined
}
