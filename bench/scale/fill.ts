import { createClient } from '#client/client.ts'
import { inSession } from '#dev/postgres.ts'
import { createClient as createKubeClient } from '#shared/kube/client.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { rootApiKey } from '../api.ts'
import { insertWorlds } from '../sync/worlds.ts'
import type { Parts } from './sizes.ts'

const pollMs = 500

/** A world, and the display name that kubectl gave it. */
export type Edit = {
  readonly organizationId: string
  readonly projectId: string
  readonly worldId: string
  readonly name: string
}

/** Creates organizations, each with a project and one world. */
export const fillOrganizations = async (parts: Parts, organizations: number) => {
  const { api, databaseUrl, cluster } = parts
  const platform = createClient({ baseUrl: api.url, apiKey: rootApiKey })
  const templates: Omit<Edit, 'name'>[] = []
  for (let at = 0; at < organizations; at += 1) {
    const { organizationId } = await platform.createOrganization({ body: { name: `Bench ${at}` } })
    const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Bench' } })
    const client = platform.in({ organizationId, projectId })
    const { worldId } = await client.createWorld({ body: { name: 'World', transient: false } })
    templates.push({ organizationId, projectId, worldId })
  }
  return {
    /** Inserts copies of the world of each organization. */
    insert: async (perOrganization: number): Promise<void> => {
      for (const { worldId } of templates) await insertWorlds(databaseUrl, worldId, perOrganization)
    },
    /** Renames a world in the cluster, as kubectl does. */
    editWithKubectl: async (): Promise<Edit> => {
      const [first] = templates
      if (first === undefined) throw new Error('There must be at least one organization.')
      const name = 'Renamed'
      const ref = { namespace: `orrery-${first.organizationId}`, name: first.worldId }
      await createKubeClient<World>(cluster.transport, worldResource).patch(
        ref,
        { spec: { displayName: name } },
        { fieldManager: 'kubectl-edit' },
      )
      return { ...first, name }
    },
  }
}

/** Waits until no row waits to be pushed to the cluster. */
export const untilClean = ({ databaseUrl }: Parts, timeoutMs: number): Promise<void> =>
  inSession(databaseUrl, async (sql) => {
    const deadlineMs = performance.now() + timeoutMs
    for (;;) {
      const { rows } = await sql.query('select count(*)::int as left from cluster_outbox')
      if (rows[0]?.left === 0) return
      if (performance.now() > deadlineMs) throw new Error(`${rows[0]?.left} rows were left after ${timeoutMs} ms.`)
      await new Promise((resolve) => setTimeout(resolve, pollMs))
    }
  })
