import { sql } from 'drizzle-orm'
import { type Deletion, deleteWorldContents, markWorldDeleting, toDeletion } from '#api/domain/deletion/deletion.ts'
import { lockSettings } from '#api/domain/organizations/organizations.ts'
import { ensureDefaultProject, findDefaultProject, lockProject } from '#api/domain/projects/projects.ts'
import { recordTransition, recordWorldEvents, updateColumns, worldLock } from '#api/domain/worlds/change.ts'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { observedEvents } from '#api/domain/worlds/eventDrafts.ts'
import { withDefaultIdle } from '#api/domain/worlds/idle.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import { launchContexts, type PushedWorld, pushedColumns, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import { checkWorldCount } from '#api/domain/worlds/worlds.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { isDirty } from '#api/platform/outbox/outbox.ts'
import { hasChanges } from '#api/sync/merge/observe.ts'
import {
  isCurrent,
  type ObservedWorld,
  observeWorld,
  runOf,
  sidesOfWorld,
  type WorldEdit,
} from '#api/sync/merge/world.ts'
import type { WorldFacts } from '#api/sync/merge/worldRules.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { isJoinable } from '#shared/domain/phases.ts'
import type { WorldPhase, WorldState } from '#shared/enumerations.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import { readWorld, type World, type WorldSpec } from '#shared/resources/world.ts'
import { markBotsElsewhere, renameWorldOfBots } from './bots.ts'
import type { Adapter, NewResource, NewRowDeps, ReconcileDeps } from './kind.ts'
import { hasApiMarks, NotAdopted } from './newResource.ts'
import { recordDeployments } from './reportedRun.ts'
import { isSettled } from './syncedCondition.ts'
import { editWorld, readFacts, type WorldIntent } from './worldEdits.ts'

type WorldTypes = {
  readonly live: World
  readonly row: WorldRow
  readonly pushed: PushedWorld
  readonly spec: WorldSpec
  readonly intent: WorldIntent
  readonly facts: WorldFacts
  readonly edit: WorldEdit
  readonly state: ObservedWorld
}

/** The adapter of Worlds. */
export const worldAdapter: Adapter<WorldTypes> = {
  kind: 'world',
  clientOf: ({ clients }) => clients.world,
  readPushed: (db, ids) => pushedQuery(db).execute({ ids }),
  toSpec: desiredSpec,
  isStatusIgnored: (row, applied) =>
    applied.status === undefined ||
    (!isCurrent(row, applied.status) && isSettled(applied, { ...row, pushRefusal: null }, row.id)),
  read: readWorld,
  lock: async (tx, id) => {
    // One round trip. The mark is read after the row is locked.
    const [row, isMarked] = await Promise.all([lockWorld(tx, id), isDirty(tx, 'world', id)])
    return row && { row, isDirty: isMarked }
  },
  insert: (...made) => insertNewWorld(...made),
  toNew: async (_, __, row, live) => ({
    ...live,
    spec: { ...live.spec, displayName: live.spec.displayName || row.name },
  }),
  runOf,
  update: updateColumns,
  markDeleting: (tx, row, deletion) => markWorldDeleting(tx, { ...row, worldId: row.id }, deletion),
  move: {
    holder: 'its server',
    findTarget: async (_, { targetCluster }) => targetCluster,
    begin: markBotsElsewhere,
    finish: renameWorldOfBots,
  },
  sidesOf: sidesOfWorld,
  readFacts,
  observe: observeWorld,
  toIntent: editWorld,
  deletionOf: (deps, row) => ({
    intent: { columns: deletionOf(deps, row) },
    change: hasExpired(deps, row) ? 'expiry' : 'deletion',
  }),
  // The run of the row stands in for a live spec without one. A later difference of the run in the row is then a start over REST.
  toBase: ({ spec }, { runId, startedAt }) =>
    spec.runId === undefined && runId !== null
      ? { ...spec, ...withDefined({ runId, startedAt: startedAt?.toISOString() }) }
      : spec,
  write: async (deps, tx, { row, live, now }, { common, intent, state: { observed, deployments } }) => {
    const changed = { ...observed, ...intent?.columns, ...common }
    const made = { now, newId: deps.newId }
    const run = live.status?.run
    const events = observed === undefined ? [] : observedEvents(row, { ...row, ...observed }, run)
    if (deployments.length > 0) deps.noteRun(row, live)
    // One round trip, in this order: a report ends the older deployments, and the run that begins is newer.
    await Promise.all([
      hasChanges(row, changed) && updateColumns(tx, row.id, changed),
      recordWorldEvents(tx, { ...row, worldId: row.id, runId: run?.id ?? row.runId }, events, made),
      recordDeployments(tx, row, live, deployments),
      intent && recordTransition(tx, { ...row, ...intent.columns }, intent, made),
    ])
  },
  deleteContents: (deps, tx, row) => deleteWorldContents(tx, { ...row, worldId: row.id }, deletionOf(deps, row)),
  worldIdOf: ({ id }) => id,
  answerOf: (row, live, { observed }) =>
    observed?.phase !== row.phase && isAnswer(live, observed?.phase) ? observed?.phase : undefined,
}

const pushedQuery = prepared((db) =>
  db
    .select(pushedColumns)
    .from(worlds)
    .where(sql`${worlds.id} = any(${sql.placeholder('ids')})`)
    .prepare('pushed_worlds'),
)

const lock = worldLock<{ id: string }>(sql`id = ${sql.placeholder('id')}`)

/** Returns the row, locked until the end of the transaction, or undefined if it does not exist. */
export const lockWorld = (tx: Transaction, id: string): Promise<WorldRow | undefined> => lock(tx, { id })

/** Reports whether a phase is what the present spec leads to for the first time, and not the end or restart of a server. */
const isAnswer = ({ spec, status }: World, phase: WorldPhase | undefined): boolean => {
  if (phase === undefined || answeredBy[phase] !== spec.state) return false
  return !isJoinable({ phase }) || status?.run?.restarts === 0
}

/** The desired state that each phase answers. A start is under way in Starting. */
const answeredBy: Readonly<Record<WorldPhase, WorldState | undefined>> = {
  Inactive: 'Stopped',
  Starting: undefined,
  Active: 'Running',
  Stopped: 'Stopped',
  Error: 'Running',
}

/** Returns the times of a deletion. A transient world that has expired is not kept. */
const deletionOf = (deps: ReconcileDeps, row: WorldRow): Deletion => {
  const deletion = toDeletion(deps)
  const { deletingAt } = deletion
  return hasExpired(deps, row) ? { deletingAt, purgeAt: deletingAt } : deletion
}

/** Reports whether a world is transient and its time is over, so that the operator deletes it. */
const hasExpired = ({ clock }: ReconcileDeps, { transient, startedAt, runtime }: WorldRow): boolean => {
  const endsAtMs = (startedAt?.getTime() ?? Number.POSITIVE_INFINITY) + (runtime.durationMinutes ?? 0) * 60_000
  return transient && endsAtMs <= clock.now()
}

/**
 * Adds the row and the launch context of a World that kubectl created. The row has the defaults of REST and is the base of the
 * World's edits, so the merge that follows adopts the spec. It stores the base. Throws `NotAdopted`, or a `Problem` at a limit.
 */
const insertNewWorld = async (
  deps: NewRowDeps,
  tx: Transaction,
  { organizationId, metadata, spec }: NewResource<WorldTypes>,
): Promise<WorldRow> => {
  const now = new Date(deps.clock.now())
  const lockOrganization = () => lockSettings({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  const projectId = await findProject(deps, tx, { organizationId, metadata, now, lockOrganization })
  const { limits, idleStopMinutes } = await lockOrganization()
  await checkWorldCount(tx, organizationId, limits)
  const { world, launchContext } = buildWorldRows(
    createWorldBody.parse({ name: nameOf(spec.displayName, metadata.name), transient: false }),
    {
      organizationId,
      projectId,
      cluster: deps.cluster,
      newId: deps.newId,
      now,
      metadata,
    },
  )
  const { runtime } = world
  const hasDefault = spec.idleStopMinutes === undefined && !hasApiMarks({ metadata })
  const programmed = { program: spec.runtime, resolvedBuild: null, runtime: { ...runtime, ...pickQuery(spec) } }
  const idle = hasDefault ? withDefaultIdle(programmed, idleStopMinutes).idleStopMinutes : undefined
  const values = { ...world, runtime: { ...runtime, ...withDefined({ idleStopMinutes: idle }) } }
  const [row] = await tx.insert(worlds).values(values).returning()
  if (row === undefined) throw new Error('Postgres returned no row.')
  await tx.insert(launchContexts).values(launchContext)
  // The base lacks the default of the organization, so that the resource gets it.
  const { revision: _, ...applied } = desiredSpec({ ...row, runtime })
  return { ...row, applied }
}

const pickQuery = ({ runtime: { query } }: WorldSpec) => withDefined({ query })

/** Returns the name that REST shows: the display name, or else the name of the resource. */
const nameOf = (displayName: string, resourceName: string): string =>
  [displayName, resourceName.slice(0, 64)].find((name) => createWorldBody.shape.name.safeParse(name).success) ??
  `World ${resourceName}`

type NewProject = {
  readonly organizationId: string
  readonly metadata: ObjectMeta
  readonly now: Date
  readonly lockOrganization: () => Promise<unknown>
}

/** Returns the id of the project of a new World. Locks the project before the organization, as REST does. */
const findProject = async (
  { newId }: NewRowDeps,
  tx: Transaction,
  { organizationId, metadata, now, lockOrganization }: NewProject,
): Promise<string> => {
  const projectId = metadata.labels?.[labels.project]
  if (projectId === undefined) {
    const known = await findDefaultProject(tx, organizationId)
    if (known !== undefined) return known
    await lockOrganization()
    return ensureDefaultProject(tx, { organizationId, id: newId('project'), now })
  }
  if (await lockProject(tx, { organizationId, projectId })) return projectId
  throw new NotAdopted(
    'ProjectNotFound',
    `The label ${labels.project} is ${projectId}, but the organization has no such project. Correct or remove the label.`,
  )
}
