import { and, eq, inArray, isNull, type Placeholder, type SQL, sql } from 'drizzle-orm'
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { projects } from '#api/domain/projects/table.ts'
import { presentStatus } from '#api/domain/worlds/present.ts'
import { type StatusWorld, statusColumns, worlds } from '#api/domain/worlds/table.ts'
import type { Database } from '#api/platform/database/client.ts'
import { listOrder, whereAfterCursor } from '#api/platform/database/page.ts'
import { openSession, type Session } from '#api/platform/database/pool.ts'
import { prepared } from '#api/platform/database/prepared.ts'
import { optional } from '#api/platform/http/fields.ts'
import { toPaged } from '#api/platform/http/page.ts'
import { withDefined } from '#shared/optional.ts'
import type { ChangedWorld } from './changes.ts'
import type { FeedCursor, FeedPage } from './feed.ts'
import type { Snapshot } from './hub.ts'
import { maxChangesAtOnce, splitCrowd } from './pgSnapshot.ts'
import type { FeedDetails, FeedWorld } from './protocol.ts'
import type { Change, TailSession } from './tail.ts'
import { type Topic, topicKey, topicOfFeed, topicOfWorld } from './topic.ts'

const pollTimeoutMs = 5_000

/** Opens the session that reads change records. A replica needs one, since a `pg_snapshot` is valid for one server only. */
export const openTailSession = async (databaseUrl: string): Promise<TailSession> => {
  const { client, close } = await openSession({
    connectionString: databaseUrl,
    application_name: 'orrery-realtime',
    statement_timeout: pollTimeoutMs,
    // Without statistics the planner would scan whole partitions, so sequential scans are off. Planning takes four times
    // as long as the query itself, so a generic plan is kept. Its row estimates are too high, which would enable JIT.
    options: '-c enable_seqscan=off -c plan_cache_mode=force_generic_plan -c jit=off',
  })
  return {
    begin: async () => {
      const { rows } = await client.query<{ snapshot: string }>('select pg_current_snapshot()::text as snapshot')
      if (rows[0] === undefined) throw new Error('Postgres returned no pg_snapshot.')
      return rows[0].snapshot
    },
    poll: async ({ xmax, inProgress }) => {
      const { rows } = await client.query<PolledRow>({ name: 'poll', text: pollText, values: [xmax, inProgress] })
      const [first] = rows
      if (first === undefined) throw new Error('Postgres returned no pg_snapshot.')
      const { snapshot } = first
      if (rows.length > maxChangesAtOnce)
        return { snapshot, ...(await readCrowd(client, [xmax, inProgress, snapshot])) }
      return { snapshot, changes: first.type === null ? [] : rows.map(changeOf) }
    },
    close,
  }
}

const polledColumns = `organization_id, project_id, world_id, type, id, user_id, data::text as data,
  extract(epoch from version)::float8 * 1000 as version_ms,
  extract(epoch from clock_timestamp() - at)::float8 * 1000 as age_ms`
const isUnseen = '(xid >= $1::text::xid8 or xid = any($2::text[]::xid8[]))'

/** A single statement, so that the rows are read with the returned snapshot. */
const pollText = `
  select s.snapshot::text as snapshot, c.*
  from (select pg_current_snapshot() as snapshot) s left join lateral (
    select ${polledColumns} from realtime_changes where ${isUnseen}
    order by version limit ${maxChangesAtOnce + 1}) c on true`

/** The changes up to the snapshot of a poll that found too many. Later transactions belong to the next poll. */
const fromCrowd = `from realtime_changes where ${isUnseen} and pg_visible_in_snapshot(xid, $3::text::pg_snapshot)`
const countText = `select organization_id, count(*)::int as changes ${fromCrowd} group by organization_id`
const toldText = `select ${polledColumns} ${fromCrowd} and organization_id = any($4::text[]) order by version`

/** Reads the changes up to a snapshot, without those of the organizations that have too many. */
const readCrowd = async (
  client: Session['client'],
  upTo: readonly [xmax: string, inProgress: readonly string[], snapshot: string],
): Promise<{ changes: Change[]; crowded: string[] }> => {
  const counted = await client.query<{ organization_id: string; changes: number }>(countText, [...upTo])
  const counts = Object.fromEntries(counted.rows.map((row) => [row.organization_id, row.changes]))
  const { told, crowded } = splitCrowd(counts)
  const { rows } = await client.query<PolledRow>(toldText, [...upTo, told])
  return { changes: rows.map(changeOf), crowded }
}

type PolledRow = {
  snapshot: string
  organization_id: string
  project_id: string
  world_id: string
  type: Change['type'] | null
  id: string
  user_id: string
  data: string | null
  version_ms: number
  age_ms: number
}

const changeOf = (row: PolledRow): Change => ({
  type: row.type ?? 'world',
  organizationId: row.organization_id,
  projectId: row.project_id,
  worldId: row.world_id,
  id: row.id,
  userId: row.user_id,
  data: row.data ?? undefined,
  versionMs: Math.round(row.version_ms),
  ageMs: row.age_ms,
})

/**
 * Returns the current documents by topic key, deleted ones included. Topics without a row are left out. `unread` are the keys of
 * documents that were left out because those before them are large. The first document is always read.
 */
export const readTopics = async (
  db: Database,
  topics: readonly Topic[],
): Promise<{ found: Map<string, Snapshot>; unread: Set<string> }> => {
  const [documents, statuses] = await Promise.all([
    readDocuments(
      db,
      topics.filter(({ type }) => type !== 'world'),
    ),
    readWorlds(
      db,
      topics.filter(({ type }) => type === 'world'),
    ),
  ])
  return { found: new Map([...documents.found, ...statuses]), unread: new Set(documents.unread) }
}

type DocumentRow = Pick<PolledRow, 'organization_id' | 'project_id' | 'world_id' | 'id' | 'user_id' | 'version_ms'> & {
  type: Topic['type']
  /** Null for a document that was not read. */
  data: string | null
  deleted: boolean
}

/** The bytes of documents per query, as Postgres stores them. */
const storedBytesPerQuery = 256 * 1024
/** The most bytes of the text of documents per query, without its first document. */
const textBytesPerQuery = 8 * 1024 * 1024
/** The most bytes of the text of a document, and of the text for each stored byte. Compressed text is repetitive. */
const maxTextBytes = 1024 * 1024
const textFactor = { compressed: 100, plain: 2 }

const readDocuments = async (
  db: Database,
  topics: readonly Topic[],
): Promise<{ found: [string, Snapshot][]; unread: string[] }> => {
  const found: [string, Snapshot][] = []
  const unread: string[] = []
  if (topics.length === 0) return { found, unread }
  const numbered = JSON.stringify(topics.map((topic, at) => ({ ...topic, at })))
  // The stored size is known without reading the document.
  const { rows } = await db.execute<DocumentRow>(sql`
    select organization_id, project_id, world_id, type, id, user_id, deleted, version_ms,
      case when coalesce(stored_before, 0) < ${storedBytesPerQuery} and coalesce(text_before, 0) < ${textBytesPerQuery}
        then data::text end as data
    from (
      select d.*, d.deleted_at is not null as deleted, extract(epoch from d.version)::float8 * 1000 as version_ms,
        sum(pg_column_size(d.data)) over before as stored_before,
        sum(least(${maxTextBytes}, pg_column_size(d.data) * case when pg_column_compression(d.data) is null
          then ${textFactor.plain}::int else ${textFactor.compressed}::int end)) over before as text_before
      from jsonb_to_recordset(${numbered}::text::jsonb)
        as t("organizationId" text, "projectId" text, "worldId" text, type text, id text, at int)
      join documents d on d.organization_id = t."organizationId" and d.project_id = t."projectId"
        and d.world_id = t."worldId" and d.type = t.type and d.id = t.id
      window before as (order by t.at rows between unbounded preceding and 1 preceding)) sized`)
  for (const row of rows) {
    const scope = { organizationId: row.organization_id, projectId: row.project_id, worldId: row.world_id }
    const { type, id, deleted, data, user_id: userId } = row
    const key = topicKey({ ...scope, type, id })
    if (data === null) unread.push(key)
    else found.push([key, { ...scope, userId, data, deleted, versionMs: Math.round(row.version_ms) }])
  }
  return { found, unread }
}

const readWorlds = async (db: Database, topics: readonly Topic[]): Promise<[string, Snapshot][]> => {
  if (topics.length === 0) return []
  const rows = await db
    .select(statusColumns)
    .from(worlds)
    .where(
      and(
        inArray(worlds.organizationId, [...new Set(topics.map(({ organizationId }) => organizationId))]),
        inArray(
          worlds.id,
          topics.map(({ id }) => id),
        ),
      ),
    )
  return rows.map((row) => {
    const { organizationId, projectId, id: worldId, followedVersion } = row
    const deleted = row.deletingAt !== null
    const data = deleted ? '{}' : JSON.stringify(presentStatus(row))
    const versionMs = followedVersion.getTime()
    return [
      topicKey(topicOfWorld(organizationId, worldId)),
      { organizationId, projectId, worldId, userId: '', data, deleted, versionMs },
    ]
  })
}

/** Reads a page of at most `limit` worlds of a feed, oldest first. It is shorter if their labels are large. */
export const readFeedPage = async (
  db: Database,
  topic: Topic,
  after: FeedCursor | undefined,
  limit: number,
): Promise<FeedPage> => {
  const page = { limit, ...withDefined({ after }) }
  const rows = await db
    .select({ ...statusColumns, labels: labelsBefore(listOrder(worlds)) })
    .from(worlds)
    .where(and(whereInFeed(topic), isNull(worlds.deletingAt), whereAfterCursor(worlds, page)))
    .orderBy(...listOrder(worlds))
    .limit(limit + 1)
  const fitting = rows.slice(0, limit).filter(hasLabels)
  const { items, next } = toPaged({ rows: fitting, hasMore: rows.length > fitting.length })
  return { worlds: items.map(toFeedWorld), next }
}

/**
 * Reads the present state of changed worlds of a feed. A world without a row is deleted. Worlds are left out if the labels of the
 * others are large. At least one is read.
 */
export const readFeedWorlds = async (
  db: Database,
  topic: Topic,
  changed: readonly ChangedWorld[],
): Promise<FeedWorld[]> => {
  const { organizationId, projectId } = topic
  const query = projectId === '' ? feedOfOrganization : feedOfProject
  const rows = await query(db).execute({ organizationId, projectId, ids: changed.map(({ id }) => id) })
  const rowOf = new Map(rows.map((row) => [row.id, row]))
  return changed.flatMap(({ id, projectId, versionMs }) => {
    const row = rowOf.get(id)
    if (row !== undefined) return hasLabels(row) ? [toFeedWorld(row)] : []
    return [{ worldId: id, projectId, isDeleted: true, version: new Date(versionMs).toISOString() }]
  })
}

/** Returns the keys of those feeds of projects whose project exists in its organization. */
export const readExistingFeeds = async (db: Database, topics: readonly Topic[]): Promise<Set<string>> => {
  const rows = await db
    .select({ organizationId: projects.organizationId, id: projects.id })
    .from(projects)
    .where(
      and(
        inArray(
          projects.id,
          topics.map(({ projectId }) => projectId),
        ),
        isNull(projects.deletingAt),
      ),
    )
  return new Set(rows.map(({ organizationId, id }) => topicKey(topicOfFeed(organizationId, id))))
}

/** The most bytes of the labels of the worlds of a message, as JSON, without its last world. */
const labelBytesPerQuery = 256 * 1024

type Labels = FeedDetails['labels']

/** Selects the labels of a world, or null if those of the worlds before it fill a message. */
const labelsBefore = (order: readonly (SQL | AnyPgColumn)[]): SQL<Labels | null> => {
  // A null would count as labels that do not fit, and be read again forever.
  const labels = sql`coalesce(nullif(${worlds.metadata} -> 'labels', 'null'), '{}')`
  const before = sql`(order by ${sql.join([...order], sql`, `)} rows between unbounded preceding and 1 preceding)`
  const fitting = sql`case when coalesce(sum(octet_length((${labels})::text)) over ${before}, 0) < ${sql.raw(String(labelBytesPerQuery))}
    then ${labels} end`
  return fitting.mapWith((text: string): Labels | null => JSON.parse(text))
}

type FeedRow = StatusWorld & { readonly labels: Labels }

const hasLabels = <Row extends { readonly labels: Labels | null }>(
  row: Row,
): row is Row & { readonly labels: Labels } => row.labels !== null

const prepareFeed = (name: string, projectId: Placeholder | '') =>
  prepared((db) =>
    db
      .select({ ...statusColumns, labels: labelsBefore([worlds.id]) })
      .from(worlds)
      .where(
        and(
          whereInFeed({ organizationId: sql.placeholder('organizationId'), projectId }),
          sql`${worlds.id} = any(${sql.placeholder('ids')})`,
        ),
      )
      .prepare(name),
  )
const feedOfOrganization = prepareFeed('feed_of_organization', '')
const feedOfProject = prepareFeed('feed_of_project', sql.placeholder('projectId'))

const whereInFeed = ({ organizationId, projectId }: Record<'organizationId' | 'projectId', string | Placeholder>) =>
  and(eq(worlds.organizationId, organizationId), projectId === '' ? undefined : eq(worlds.projectId, projectId))

const toFeedWorld = (row: FeedRow): FeedWorld => {
  const { id: worldId, projectId, followedVersion } = row
  const common = { worldId, projectId, version: followedVersion.toISOString() }
  if (row.deletingAt !== null) return { ...common, isDeleted: true }
  const { name, labels, networking, compute, runtime, admission, restarts } = row
  return {
    ...common,
    name,
    createdAt: row.createdAt.toISOString(),
    labels,
    profile: networking.scaling.profile,
    group: compute.group,
    region: compute.region,
    mapName: runtime.mapName,
    capacity: admission.capacity,
    ...optional('players', row.queueActive),
    ...optional('queued', row.queueQueued),
    ...optional('reportedVersion', row.queueReported?.version),
    ...optional('reportedMap', row.queueReported?.map),
    restarts,
    status: presentStatus(row),
  }
}

/** Returns the project of a world, or undefined if the organization has no such world. */
export const projectOfWorld = async (
  db: Database,
  { organizationId, worldId }: { organizationId: string; worldId: string },
): Promise<string | undefined> => {
  const [row] = await db
    .select({ projectId: worlds.projectId })
    .from(worlds)
    .where(and(eq(worlds.organizationId, organizationId), eq(worlds.id, worldId), isNull(worlds.deletingAt)))
  return row?.projectId
}
