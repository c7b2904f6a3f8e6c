import { setTimeout as delay } from 'node:timers/promises'
import { createClient } from '#client/client.ts'
import { type Machine, namespace } from './machine.ts'

const pollMs = 250
const startTimeoutMs = 180_000

/** Creates a project with running worlds. Resolves when all of them are Active. */
export const startWorlds = async ({ kubectl }: Machine, of: { apiUrl: string; apiKey: string; count: number }) => {
  const platform = createClient({ baseUrl: of.apiUrl, apiKey: of.apiKey, maxRetries: 0 })
  const { organizationId } = await platform.createOrganization({ body: { name: 'Upgrade' } })
  const inOrganization = platform.in({ organizationId })
  const { projectId } = await inOrganization.createProject({ body: { name: 'Upgrade' } })
  const client = platform.in({ organizationId, projectId })
  const scope = { apiKey: of.apiKey, organizationId, projectId, maxRetries: 0 }
  const ids: string[] = []
  for (let index = 0; index < of.count; index += 1) {
    const { worldId } = await client.createWorld({
      body: { name: `World ${index}`, transient: false, runtime: { mapName: 'hall' } },
    })
    ids.push(worldId)
    await client.startWorld({ params: { worldId } })
  }
  const list = async (apiUrl: string) =>
    (await createClient({ ...scope, baseUrl: apiUrl }).listWorlds({ query: { limit: 100 } })).filter(({ documentId }) =>
      ids.includes(documentId),
    )
  const areActive = async (apiUrl: string): Promise<boolean> => {
    const worlds = await list(apiUrl)
    return worlds.length === ids.length && worlds.every(({ status }) => status.phase === 'Active')
  }
  const untilActive = async (apiUrl: string): Promise<void> => {
    const deadlineMs = performance.now() + startTimeoutMs
    while (!(await areActive(apiUrl))) {
      if (performance.now() > deadlineMs)
        throw new Error(`The ${of.count} worlds are not Active: ${JSON.stringify(await list(apiUrl))}`)
      await delay(pollMs)
    }
  }
  await untilActive(of.apiUrl)
  const tenantNamespace = `orrery-${organizationId}`
  /** Returns the uid and the restarts of each server. */
  const servers = (): Promise<string> => {
    const each = '{.metadata.name} {.metadata.uid} {.status.containerStatuses[0].restartCount}'
    return kubectl('get', 'pods', '-n', tenantNamespace, '-o', `jsonpath={range .items[*]}${each}{"\\n"}{end}`)
  }
  return {
    ids,
    headers: { 'x-api-key': of.apiKey, 'x-svc-organization-id': organizationId, 'x-svc-project-id': projectId },
    namespace: tenantNamespace,
    /** Waits until all worlds are Active over this URL. */
    untilActive,
    servers,
  }
}

/** Returns the platform key of an installation. */
export const platformKey = async ({ kubectl }: Machine, secret = 'orrery-keys'): Promise<string> => {
  const text = await kubectl('get', 'secret', secret, '-n', namespace, '-o', 'jsonpath={.data.platform-key}')
  return Buffer.from(text, 'base64').toString()
}
