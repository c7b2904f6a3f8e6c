import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openPki } from '#dev/kubernetes/pki.ts'
import { freePort } from '#dev/ports.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createGate, createTcpGate } from '#test/support/gate.ts'
import { startLogServer } from '#test/support/logServer.ts'
import { aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Options = { readonly log?: string; readonly settings?: Readonly<Record<string, string>> }

/**
 * Starts an API behind a gate, an operator, and a tenant with four worlds: Lobby never ran, Arena runs, the image of Quarry cannot
 * be pulled, and Forge fails. The log of Arena is `log`. `origin` is that of the gate. The API has also gates before the cluster and
 * the database.
 */
export const startFleet = async ({ log = 'hello', settings: more = {} }: Options = {}) => {
  const cluster = aCluster()
  const port = await freePort()
  const gate = await createTcpGate(new URL(`http://127.0.0.1:${port}`))
  const origin = `http://127.0.0.1:${gate.port}`
  const dir = mkdtempSync(join(tmpdir(), 'orrery-console-'))
  const key = 'a-key-of-at-least-thirty-two-characters'
  const servers = new Map<string, Pod>()
  const logServer = await startLogServer({ pkiDir: dir, key, servers, line: log })
  const settings = {
    ...more,
    ORRERY_PUBLIC_URL: origin,
    ORRERY_OPERATOR_URL: `https://localhost:${logServer.port}`,
    ORRERY_OPERATOR_CA_FILE: (await openPki(dir, Date.now())).caFile,
    ORRERY_LOGS_KEY: key,
  }
  const url = new URL(await aDatabase())
  const database = await createTcpGate(new URL(url))
  url.port = String(database.port)
  const kubernetes = await createGate(getServers().apiKubeconfig)
  const { kubeconfig } = kubernetes
  const [api, operator] = await Promise.all([
    startApi({ databaseUrl: url.href, kubeconfig, port, settings }),
    startOperator(),
  ])
  const tenant = await aTenant(api.url)
  const { rest, paths } = tenant
  const namespace = `orrery-${tenant.scope.organizationId}`
  const podOf = (id: string) => cluster.pod(namespace, id)
  const start = async (id: string) => {
    const { status } = await rest.call('POST', `/api/worlds/${id}/start/`)
    if (status !== 200) throw new Error(`The world ${id} does not start: ${status}`)
    servers.set(`${namespace}/${id}`, await podOf(id).exists())
  }
  const has = (id: string, what: string, isSo: (status: WorldBody['status']) => boolean) =>
    eventually(`${id} is ${what}`, async () =>
      isSo((await rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body.status),
    )
  const build = { image: 'registry.example/a:1', contentId: 'arena' }
  await rest.call('PUT', '/api/builds/live/v7/', build)
  const [lobby, arena, quarry, forge] = await Promise.all([
    tenant.world({ name: 'Lobby', metadata: { labels: { team: 'events' } } }),
    tenant.world({ name: 'Arena', runtime: { mapName: 'dust', build: { channelId: 'live', tag: 'v7' } } }),
    tenant.world({ name: 'Quarry' }),
    tenant.world({ name: 'Forge' }),
  ])
  await Promise.all([
    start(arena)
      .then(() => podOf(arena).becomesReady({ ip: '10.0.0.7' }))
      .then(() => has(arena, 'Active', ({ phase }) => phase === 'Active')),
    start(quarry)
      .then(() => podOf(quarry).cannotPullItsImage('not found'))
      .then(() => has(quarry, 'without an image', ({ message }) => message.includes('image'))),
    start(forge)
      .then(() => podOf(forge).runsOutOfMemory())
      .then(() => has(forge, 'out of memory', ({ message }) => message.includes('memory'))),
  ])
  const everything = [`${paths.organization}/**:w`]
  return {
    origin,
    gate,
    gates: { kubernetes, database },
    tenant,
    podOf,
    /** Runs kubectl as an administrator in the namespace of the tenant. */
    kubectl: (...args: string[]) => cluster.kubectl('-n', namespace, ...args),
    worlds: { lobby, arena, quarry, forge },
    /** A key that may read and change the worlds, and one that may only read them. */
    writer: await tenant.key(everything),
    reader: await tenant.key([`${paths.organization}/**:r`]),
    patch: (id: string, body: object) => rest.call('PATCH', `/api/worlds/${id}/`, body),
    start,
    has,
    stop: async (): Promise<void> => {
      await Promise.all([gate.remove(), api.stop(), operator.stop(), logServer.close()])
      await Promise.all([kubernetes.remove(), database.remove()])
      await cluster.close()
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

export type Fleet = Awaited<ReturnType<typeof startFleet>>
