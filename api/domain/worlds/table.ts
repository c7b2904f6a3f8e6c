import { getTableColumns, type SQL, sql } from 'drizzle-orm'
import {
  type AnyPgColumn,
  bigint,
  boolean,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  text,
  unique,
} from 'drizzle-orm/pg-core'
import type { BuildPackage, ResolvedBuild } from '#api/domain/builds/schema.ts'
import type { StoredCondition } from '#api/domain/events/conditions.ts'
import { eventColumns } from '#api/domain/events/table.ts'
import { projects } from '#api/domain/projects/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import type { WorldIdle } from '#shared/domain/idle.ts'
import { endedStatuses } from '#shared/domain/phases.ts'
import type { Reported, ServerQuery } from '#shared/domain/query.ts'
import type { NextAction } from '#shared/domain/schedule.ts'
import { deploymentStatuses, networkingStrategies, worldPhases, worldStates } from '#shared/enumerations.ts'
import { without } from '#shared/optional.ts'
import type { CapturedRun, WorldSpec } from '#shared/resources/world.ts'
import { deploymentEndReasons } from './runs/schema.ts'
import type {
  Admission,
  Compute,
  LaunchContextDetails,
  Manifest,
  Metadata,
  Networking,
  Reach,
  Runtime,
  Sessions,
} from './schema.ts'
import type { RunSettings } from './settings.ts'

/** The part of `spec.runtime` that REST does not have. Absent fields have the defaults of the resource. */
export type Program = {
  readonly image?: string
  readonly contentId?: string
  readonly probes?: boolean
  readonly args?: string[]
}

/** A refused edit of a resource. */
export type Refusal = {
  /** The revision of the row at the refusal. */
  readonly revision: number
  /** Sentences for people. */
  readonly message: string
  /** The generation of the resource with the edit. */
  readonly generation: number
  /** The times at which edits were put back in the last minute, in epoch milliseconds. */
  readonly putBackAtMs: readonly number[]
  /** The edit is not put back, because others write it again and again. */
  readonly isLeft: boolean
}

/** The columns of a row with a resource in the cluster: the revision, the resource as last applied, the deletion. */
export const resourceColumns = <Spec>() => ({
  /** Grows with each change of the desired state. It is a bigint because others can raise it in the cluster. */
  revision: bigint({ mode: 'number' }).notNull().default(1),
  statusMessage: text().notNull().default(''),
  conditions: jsonb().$type<readonly StoredCondition[]>().notNull().default([]),
  metadata: jsonb().$type<Metadata>().notNull(),
  /** The canonical spec that was last applied or adopted. */
  applied: jsonb().$type<Spec>(),
  appliedResourceVersion: text(),
  resourceUid: text(),
  /** The name of the resource in the cluster: the id, unless kubectl created the resource. */
  resourceName: text().notNull(),
  /** The last refusal of an edit with kubectl, until a later revision is in the cluster. */
  refusal: jsonb().$type<Refusal>(),
  /** The reason, in words for tenants, for which the cluster refused the last push; null while it accepts pushes. */
  pushRefusal: text(),
  /** The time of the deletion request. From then on no response shows the row. It is removed after its resource. */
  deletingAt: instant(),
  /** The time from which a deleted row is erased; until then it can be restored. Null means at once. */
  purgeAt: instant(),
  /** The time at which the resource of a deleted row was gone. */
  removedAt: instant(),
  createdAt: instant().notNull(),
  updatedAt: instant().notNull(),
})

/** The worlds: desired state, observed state, and the resource as last applied. */
export const worlds = pgTable(
  'worlds',
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    name: text().notNull(),
    description: text(),
    pictureUrl: text(),
    transient: boolean().notNull(),
    compute: jsonb().$type<Compute>().notNull(),
    networking: jsonb().$type<Networking>().notNull(),
    runtime: jsonb().$type<Runtime>().notNull(),
    manifest: jsonb().$type<Manifest>().notNull(),
    admission: jsonb().$type<Admission>().notNull(),
    sessions: jsonb().$type<Sessions>().notNull(),
    state: text({ enum: worldStates }).notNull().default('Stopped'),
    runId: text(),
    startedAt: instant(),
    /** The program that kubectl set. Image, content and probes count while no build is named. */
    program: jsonb().$type<Program>().notNull().default({}),
    /** The build of the run with its image, fixed at the start of the run. */
    resolvedBuild: jsonb().$type<ResolvedBuild & BuildPackage>(),
    /** The settings of the last start. Columns that differ from them take effect at the next start. */
    startedWith: jsonb().$type<RunSettings>(),
    /** The last run as it was checked and allowed at its start. The operator executes it as a whole. */
    granted: jsonb().$type<CapturedRun>(),
    /** The time since which a start with kubectl waits for room or for its rate, or null. */
    waitsSince: instant(),
    /** The reason for which that start waits, as a sentence. */
    waitsFor: text(),
    /** The time before which that start is not tried again, if its rate is the reason. */
    waitsUntil: instant(),
    /** The capacity of the scaling profile. */
    estimatedCapacity: integer().notNull(),
    /** The revision of the last start or stop. Observations with a lower revision belong to an earlier run. */
    runRevision: bigint({ mode: 'number' }).notNull().default(0),
    phase: text({ enum: worldPhases }).notNull().default('Inactive'),
    /** The addresses for players and the networking strategy of the run; null while no server has an address. */
    address: jsonb().$type<Reach>(),
    /** The players as the server reports them; null until it does. */
    queueQueued: integer(),
    queueActive: integer(),
    /** The fields that the server reports beside its players; null if it has none. */
    queueReported: jsonb().$type<Reported>(),
    /** The sleep of the world as the operator reports it; null if it reports none. */
    idle: jsonb().$type<WorldIdle>(),
    /** The next action of the schedule, with its times in UTC and milliseconds; null without a schedule. */
    nextAction: jsonb().$type<NextAction>(),
    /** The restarts of the run's server. */
    restarts: integer().notNull().default(0),
    /** The version of the status for realtime subscribers. A trigger sets it with each change record. */
    followedVersion: instant().notNull().default(sql`now()`),
    /** The cluster that has the world's resource. */
    cluster: text().notNull().default('default'),
    /**
     * The cluster that the world moves to, or null. Its resource in `cluster` is deleted first, so that at most one server
     * exists.
     */
    targetCluster: text(),
    ...resourceColumns<WorldSpec>(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId],
      foreignColumns: [projects.organizationId, projects.id],
    }),
    unique().on(table.organizationId, table.projectId, table.id),
    index().on(table.organizationId, table.resourceName),
    index().on(table.organizationId, table.createdAt, table.id),
    index().on(table.cluster).where(sql`${table.resourceUid} is not null`),
    index().on(table.purgeAt).where(sql`${table.removedAt} is not null`),
    index().on(table.organizationId, table.waitsSince).where(sql`${table.waitsSince} is not null`),
    // Times of one form sort as texts, and a cast to an instant is not immutable.
    index('worlds_next_action_at_index')
      .on(sql`(${table.nextAction} ->> 'at') collate "C"`)
      .where(sql`${table.nextAction} is not null and ${table.deletingAt} is null`),
  ],
)

/**
 * The launch contexts of worlds, one for each: how users enter it. A launch context is created and deleted with its
 * world.
 */
export const launchContexts = pgTable(
  'launch_contexts',
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull().unique(),
    name: text().notNull(),
    description: text(),
    pictureUrl: text(),
    isActive: boolean().notNull().default(true),
    isPublic: boolean().notNull().default(false),
    isWorldTravelOnly: boolean().notNull().default(false),
    useWorldSessions: boolean().notNull().default(true),
    details: jsonb().$type<LaunchContextDetails>().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId, table.worldId],
      foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
    }).onDelete('cascade'),
    index().on(table.worldId).where(sql`${table.isPublic}`),
  ],
)

/**
 * Selects the deployments that have not ended: their servers may still run or drain. It has no parameters, so that Postgres
 * uses the index of open deployments.
 */
export const whereOpen = ({ status }: { readonly status: AnyPgColumn }): SQL =>
  sql`${status} not in (${sql.raw(endedStatuses.map((each) => `'${each}'`).join(', '))})`

/** The history of worlds: one row for each run. */
export const deployments = pgTable(
  'deployments',
  {
    id: text().primaryKey(),
    organizationId: text().notNull(),
    projectId: text().notNull(),
    worldId: text().notNull(),
    runId: text().notNull(),
    externalId: text().notNull(),
    status: text({ enum: deploymentStatuses }).notNull(),
    networking: jsonb().$type<{ scaling: { profile: string } }>().notNull(),
    /** The capacity of the scaling profile of the run, which counts against maxRunningCapacity until the run has ended. */
    capacity: integer().notNull().default(0),
    /** The networking strategy of the run: as requested, and then as the operator resolved it. */
    strategy: text({ enum: networkingStrategies }).notNull().default('Default'),
    /** The entries of the Service of the run, if it has one. Each takes a node port. */
    servicePorts: integer().notNull().default(2),
    compute: jsonb().$type<Compute & { clusterName: string }>().notNull(),
    runtime: jsonb()
      .$type<{
        build: { channelId?: string; id?: string; content?: { id: string } }
        mapName: string
        query?: ServerQuery
        durationMinute?: number
        args: string[]
      }>()
      .notNull(),
    /** The image of the server; null until the operator reports it. */
    image: text(),
    startedAt: instant(),
    readyAt: instant(),
    endedAt: instant(),
    endReason: text({ enum: deploymentEndReasons }),
    exitCode: integer(),
    /** The caller who woke the world for this run, as `wakerOf` names it; null for any other start. */
    wokenBy: text(),
    restarts: integer().notNull().default(0),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId, table.worldId],
      foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
    }).onDelete('cascade'),
    index().on(table.worldId, table.createdAt, table.id),
    index('woken_deployments').on(table.wokenBy, table.createdAt).where(sql`${table.wokenBy} is not null`),
    index('open_deployments').on(table.organizationId).where(whereOpen(table)),
  ],
)

/** The recent events of worlds. Each world keeps its newest ones. */
export const worldEvents = pgTable('world_events', eventColumns(), (table) => [
  foreignKey({
    columns: [table.organizationId, table.projectId, table.worldId],
    foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
  }).onDelete('cascade'),
  index().on(table.worldId, table.createdAt, table.id),
])

/** The columns that no response shows. Reading such a column of a thousand rows takes longer than the query. */
const hidden = [
  'state',
  'program',
  'granted',
  'waitsSince',
  'waitsUntil',
  'estimatedCapacity',
  'runRevision',
  'restarts',
  'followedVersion',
  'cluster',
  'targetCluster',
  'revision',
  'applied',
  'appliedResourceVersion',
  'resourceUid',
  'resourceName',
  'refusal',
  'pushRefusal',
  'deletingAt',
  'purgeAt',
  'removedAt',
] as const

/** The columns of a world that its responses show. */
export const shownColumns = without(getTableColumns(worlds), hidden)

/** The columns of a world that realtime shows, and those that it compares. */
export const statusColumns = {
  ...without(shownColumns, ['manifest', 'metadata', 'sessions']),
  restarts: worlds.restarts,
  followedVersion: worlds.followedVersion,
  deletingAt: worlds.deletingAt,
}

/** All columns of a world but large ones that its resource does not depend on. */
export const pushedColumns = without(getTableColumns(worlds), ['manifest', 'sessions', 'conditions'])

export type WorldRow = typeof worlds.$inferSelect
export type ShownWorld = Pick<WorldRow, keyof typeof shownColumns>
export type PushedWorld = Pick<WorldRow, keyof typeof pushedColumns>
export type StatusWorld = Pick<WorldRow, keyof typeof statusColumns>
export type LaunchContextRow = typeof launchContexts.$inferSelect
export type DeploymentRow = typeof deployments.$inferSelect
