import { sql } from 'drizzle-orm'
import { boolean, foreignKey, index, integer, jsonb, pgTable, text, unique } from 'drizzle-orm/pg-core'
import type { BuildPackage, ResolvedBuild } from '#api/domain/builds/schema.ts'
import { projects } from '#api/domain/projects/table.ts'
import { instant } from '#api/platform/database/columns.ts'
import { deploymentStatuses, worldPhases, worldStates } from '#shared/enumerations.ts'
import type { WorldSpec } from '#shared/resources/world.ts'
import type {
  Admission,
  Compute,
  LaunchContextDetails,
  Manifest,
  Metadata,
  Networking,
  Runtime,
  Sessions,
} from './schema.ts'
import type { RunSettings } from './settings.ts'

/** The worlds: what is wanted of each, what is observed of it, and what is known of its resource. */
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
    metadata: jsonb().$type<Metadata>().notNull(),
    compute: jsonb().$type<Compute>().notNull(),
    networking: jsonb().$type<Networking>().notNull(),
    runtime: jsonb().$type<Runtime>().notNull(),
    manifest: jsonb().$type<Manifest>().notNull(),
    admission: jsonb().$type<Admission>().notNull(),
    sessions: jsonb().$type<Sessions>().notNull(),
    state: text({ enum: worldStates }).notNull().default('Stopped'),
    runId: text(),
    startedAt: instant(),
    /** The build of the run, fixed at its start, with what the server is made of. */
    resolvedBuild: jsonb().$type<ResolvedBuild & BuildPackage>(),
    /** What the run was started with; where a row differs from it, the next start makes the difference. */
    startedWith: jsonb().$type<RunSettings>(),
    /** The capacity of the scaling profile. */
    estimatedCapacity: integer().notNull(),
    /** The capacity of the profile that the current run was started with; 0 before the first run. */
    runningCapacity: integer().notNull().default(0),
    /** Rises with each change of what is wanted. */
    revision: integer().notNull().default(1),
    /** The revision of the last start or stop: an observation older than it is about an earlier run. */
    runRevision: integer().notNull().default(0),
    phase: text({ enum: worldPhases }).notNull().default('Inactive'),
    statusMessage: text().notNull().default(''),
    queueQueued: integer().notNull().default(0),
    queueActive: integer().notNull().default(0),
    /** Rises with each change of what is observed. */
    statusVersion: integer().notNull().default(0),
    /** The version of the status for those who follow it: a trigger sets it with each change that they are told of. */
    followedVersion: instant().notNull().default(sql`now()`),
    cluster: text().notNull().default('default'),
    /** The canonical spec that was applied or adopted last, and the resource that it is of. */
    applied: jsonb().$type<WorldSpec>(),
    appliedResourceVersion: text(),
    resourceUid: text(),
    /** A row marked so is absent from every answer; it goes when its resource is gone. */
    deletingAt: instant(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId],
      foreignColumns: [projects.organizationId, projects.id],
    }),
    unique().on(table.organizationId, table.projectId, table.id),
    index().on(table.organizationId, table.createdAt, table.id),
    index().on(table.cluster).where(sql`${table.resourceUid} is not null`),
  ],
)

/** How people get into a world: made with it, deleted with it. */
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

/** The history of a world's runs: one deployment a run. */
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
    compute: jsonb().$type<Compute & { clusterName: string }>().notNull(),
    runtime: jsonb()
      .$type<{
        build: { channelId?: string; id?: string; content?: { id: string } }
        mapName: string
        durationMinute?: number
        args: string[]
      }>()
      .notNull(),
    createdAt: instant().notNull(),
    updatedAt: instant().notNull(),
  },
  (table) => [
    foreignKey({
      columns: [table.organizationId, table.projectId, table.worldId],
      foreignColumns: [worlds.organizationId, worlds.projectId, worlds.id],
    }).onDelete('cascade'),
    index().on(table.worldId, table.createdAt, table.id),
  ],
)

export type WorldRow = typeof worlds.$inferSelect
export type LaunchContextRow = typeof launchContexts.$inferSelect
export type DeploymentRow = typeof deployments.$inferSelect
