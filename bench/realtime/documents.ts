import pg from 'pg'
import { putDocument } from '#api/domain/documents/documents.ts'
import type { Principal } from '#api/platform/auth/principal.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { createClient } from '#client/client.ts'
import { systemClock } from '#shared/clock.ts'
import { rootApiKey } from '../api.ts'

/** The scope and documents of a load. */
export type Place = {
  readonly databaseUrl: string
  readonly organizationId: string
  readonly projectId: string
  /** The headers of requests and upgrades. */
  readonly headers: Record<string, string>
}

/** The number of documents, which are named `doc-0` and so on. */
export const documentCount = 1_000
/** Padding with which an update has about 256 bytes. */
export const text = 'x'.repeat(90)

/** Creates a tenant with all documents. */
export const fill = async (baseUrl: string, databaseUrl: string): Promise<Place> => {
  const platform = createClient({ baseUrl, apiKey: rootApiKey })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Bench' } })
  const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Bench' } })
  const headers = {
    'x-api-key': rootApiKey,
    'x-svc-organization-id': organizationId,
    'x-svc-project-id': projectId,
  }
  const place = { databaseUrl, organizationId, projectId, headers }
  const [writer] = await openWriters(place, 1)
  for (let at = 0; at < documentCount; at += 1) await writer?.write(at, 0)
  await writer?.close()
  return place
}

/** A writer of documents, which writes them in turn over its own database session. */
export type Writer = {
  query(statement: string): Promise<unknown>
  write(document: number, n: number): Promise<unknown>
  close(): Promise<unknown>
}

const dataOf = (n: number) => ({ id: 'd', config: { n, text } })

/** Creates writers that run a single statement per transaction, which is the cheapest possible write. */
export const openWriters = (place: Place, count: number): Promise<Writer[]> =>
  Promise.all(
    Array.from({ length: count }, async () => {
      const client = new pg.Client({ connectionString: place.databaseUrl })
      await client.connect()
      return {
        query: (statement) => client.query(statement),
        write: (document, n) =>
          client.query({
            name: 'write',
            text: writeText,
            values: [place.organizationId, place.projectId, `doc-${document}`, dataOf(n)],
          }),
        close: () => client.end(),
      }
    }),
  )

const unlimited = { maxDocuments: Number.POSITIVE_INFINITY, maxDocumentBytes: Number.POSITIVE_INFINITY }

/** Creates writers that write as the API does on a PUT, with its locks and checks, but without an HTTP request. */
export const openVerbs = ({ databaseUrl, organizationId, projectId }: Place, count: number): Writer[] =>
  Array.from({ length: count }, () => {
    const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
    const principal: Principal = { kind: 'key', id: 'bench', bucket: 'bench', permissions: [], claims: [] }
    const ctx = {
      db,
      clock: systemClock,
      principal,
      verb: undefined,
      organizationId,
      projectId,
      worldId: '',
      cachedLimits: () => unlimited,
      countDocumentBytes: () => undefined,
    }
    return {
      query: (statement) => db.execute(statement),
      write: (document, n) => putDocument(ctx, { type: 'liveConfig', id: `doc-${document}` }, { data: dataOf(n) }),
      close,
    }
  })

/** The write statement of the API. */
const writeText = `
  insert into documents (organization_id, project_id, world_id, type, id, user_id, data, version)
  values ($1, $2, '', 'liveConfig', $3, 'bench', $4, date_trunc('milliseconds', clock_timestamp()))
  on conflict (organization_id, project_id, world_id, type, id) do update set data = excluded.data,
    version = greatest(excluded.version, documents.version + interval '1 millisecond')`

/** The subscribe request for a document. */
export const subscribeTo = (document: number): string =>
  JSON.stringify({ action: 'subscribe', resource: { type: 'liveConfig', id: `doc-${document}` } })

/** The `n` of an update. */
export const readN = (update: Buffer): number => {
  const at = update.indexOf('"n":')
  return at < 0 ? -1 : Number.parseInt(update.toString('latin1', at + 4, at + 16).trimStart(), 10)
}

/** Counts received updates and resolves waits for a number of them. */
export const createTally = () => {
  let count = 0
  let wanted = Number.POSITIVE_INFINITY
  let reached = Promise.withResolvers<void>()
  return {
    add: (): void => {
      count += 1
      if (count >= wanted) reached.resolve()
    },
    count: (): number => count,
    /** Waits for `more` updates after the first `from`. Rejects after the timeout. */
    reach: async (more: number, timeoutMs: number, from = count): Promise<void> => {
      wanted = from + more
      reached = Promise.withResolvers<void>()
      if (count >= wanted) return
      const late = (): void => reached.reject(new Error(`${count - from} of ${more} were heard in ${timeoutMs} ms`))
      const timer = setTimeout(late, timeoutMs)
      await reached.promise.finally(() => clearTimeout(timer))
    },
  }
}
