import pg from 'pg'
import { createClient } from '#client/client.ts'
import { rootApiKey } from '../api.ts'
import type { Place } from './documents.ts'

/** The number of worlds whose changes the feed delivers. */
const worldCount = 100

/** The subscribe request for the worlds of a place's project. */
export const subscribeToWorlds = ({ projectId }: Place): string =>
  JSON.stringify({ action: 'subscribe', resource: { type: 'worlds', id: projectId } })

/** Creates the worlds, and returns a function that commits change `n`: it renames one of them to `n-<n>`. */
export const openRenames = async (baseUrl: string, { databaseUrl, organizationId, projectId }: Place) => {
  const client = createClient({ baseUrl, apiKey: rootApiKey, organizationId, projectId })
  const ids: string[] = []
  for (let at = 0; at < worldCount; at += 1) {
    const { worldId } = await client.createWorld({ body: { name: `World ${at}`, transient: false } })
    ids.push(worldId)
  }
  const sql = new pg.Pool({ connectionString: databaseUrl, max: 4 })
  return {
    rename: (n: number) =>
      sql.query({
        name: 'rename',
        text: 'update worlds set name = $2 where id = $1',
        values: [ids[n % worldCount], `n-${n}`],
      }),
    close: () => sql.end(),
  }
}

const marker = '"name":"n-'
/** Calls `heard` with the number of each change in a message of the feed. */
export const readRenames = (message: Buffer, heard: (n: number) => void): void => {
  for (let at = message.indexOf(marker); at >= 0; at = message.indexOf(marker, at + marker.length)) {
    const start = at + marker.length
    heard(Number.parseInt(message.toString('latin1', start, start + 10), 10))
  }
}
