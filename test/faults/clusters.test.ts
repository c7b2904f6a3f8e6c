import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { openPki } from '#dev/kubernetes/pki.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { withDefined } from '#shared/optional.ts'
import { startAnotherCluster } from '#test/support/anotherCluster.ts'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { createGate } from '#test/support/gate.ts'
import { followLog, requestLog, startLogServer } from '#test/support/logServer.ts'
import {
  type ApiProcess,
  aDatabase,
  logLines,
  rootApiKey,
  runOrrery,
  startApi,
  startOperator,
} from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Shown = { compute: { group: string; region: string }; status: { phase: string; message: string } }

const europe = { group: 'production', region: 'Europe' }
const america = { group: 'production', region: 'NorthAmerica' }
const dir = mkdtempSync(join(tmpdir(), 'orrery-clusters-'))
const clustersFile = join(dir, 'clusters.json')
const eu = aCluster()
let far: Awaited<ReturnType<typeof startAnotherCluster>>
let us: ReturnType<typeof aCluster>
let gate: Awaited<ReturnType<typeof createGate>>
let databaseUrl: string
let database: ReturnType<typeof openDatabase>
let operators: Awaited<ReturnType<typeof startOperator>>[] = []
let logServers: Awaited<ReturnType<typeof startLogServer>>[] = []
let api: ApiProcess

/** The servers whose logs can be read, in either cluster. */
const servers = new Map<string, Pod>()
const pkiDir = join(dir, 'pki')
const keys = { eu: 'a-log-key-of-europe-with-32-characters', us: 'a-log-key-of-america-with-32-characters' }
const usKeyFile = join(dir, 'us-logs.key')
const logsOf = (at: number) => ({
  operatorUrl: `https://localhost:${logServers[at]?.port}`,
  operatorCaFile: join(pkiDir, 'ca.crt'),
})
const list = (...clusters: object[]): void => writeFileSync(clustersFile, JSON.stringify(clusters))
const inEurope = { name: 'eu', places: [europe] }
const inAmerica = () => ({
  name: 'us',
  places: [america],
  kubeconfig: gate.kubeconfig,
  ...logsOf(1),
  logsKeyFile: usKeyFile,
})
const start = (port?: number): Promise<ApiProcess> => {
  const { operatorUrl, operatorCaFile } = logsOf(0)
  const logs = { ORRERY_OPERATOR_URL: operatorUrl, ORRERY_OPERATOR_CA_FILE: operatorCaFile, ORRERY_LOGS_KEY: keys.eu }
  const settings = { ORRERY_CLUSTERS_FILE: clustersFile, ...logs }
  return startApi({ databaseUrl, settings, ...withDefined({ port }) })
}
/** Starts the API that has ended again, with the same URL. */
const restartApi = async (): Promise<void> => {
  api = await start(Number(new URL(api.url).port))
}

beforeAll(async () => {
  far = await startAnotherCluster()
  us = aCluster(far)
  gate = await createGate(far.apiKubeconfig)
  databaseUrl = await aDatabase()
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
  await openPki(pkiDir, Date.now())
  writeFileSync(usKeyFile, keys.us)
  logServers = await Promise.all(
    (['eu', 'us'] as const).map((cluster) =>
      startLogServer({ pkiDir, cluster, key: keys[cluster], line: `hello from ${cluster}`, servers }),
    ),
  )
  operators = await Promise.all([startOperator(), startOperator({ KUBECONFIG: far.operatorKubeconfig })])
  list(inEurope, inAmerica())
  api = await start()
})
afterAll(async () => {
  await Promise.all([
    api?.stop(),
    ...[...operators, ...logServers].map((each) => ('stop' in each ? each.stop() : each.close())),
  ])
  await database?.close()
  await Promise.all([eu.close(), us?.close()])
  await gate?.remove()
  await far?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const namespaceOf = (tenant: Tenant): string => `orrery-${tenant.scope.organizationId}`
const show = async (tenant: Tenant, id: string): Promise<Shown> =>
  (await tenant.rest.call<Shown>('GET', `/api/worlds/${id}/`)).body
const quotaOf = (cluster: typeof eu, tenant: Tenant): string =>
  cluster.kubectl('-n', namespaceOf(tenant), 'get', 'resourcequota', '-o', 'jsonpath={.items[*].spec.hard}')
const aBotDeployment = async (tenant: Tenant, worldId: string): Promise<string> => {
  const path = `/api/worlds/${worldId}/bots/`
  expect((await tenant.rest.call('POST', path, { count: 1 })).status).toBe(200)
  const { body } = await tenant.rest.call<{ documentId: string }[]>('GET', path)
  return body[0]?.documentId ?? ''
}
/** Runs a command with the kubeconfig of the second cluster. The gate is in this process, which waits for the command. */
const orreryWith = (kubeconfig: string, ...args: string[]): string => {
  const file = join(dir, 'command-clusters.json')
  writeFileSync(file, JSON.stringify([inEurope, { ...inAmerica(), kubeconfig }]))
  const environment = { ORRERY_DATABASE_URL: databaseUrl, ORRERY_CLUSTERS_FILE: file }
  const { stdout, stderr } = runOrrery(args, { ...environment, KUBECONFIG: getServers().apiKubeconfig })
  return stdout + stderr
}
const orrery = (...args: string[]): string => orreryWith(far.apiKubeconfig, ...args)
type Status = {
  clusters: { name: string; state: string }[]
  findings: { type: string; cluster: string; name: string }[]
}
const readStatus = async (): Promise<Status> =>
  (await createRest(api.url, {}, rootApiKey).call<Status>('GET', '/api/sync/')).body
/** Waits until the cluster has the row as it is now. */
const isSettled = ({ rest }: Tenant, id: string) =>
  eventually('the row is pushed', async () => {
    const { rowCount } = await database.db.execute(sql`
      select from worlds where id = ${id} and (applied->>'revision')::bigint = revision
      and not exists (select from cluster_outbox where cluster_outbox.id = worlds.id)`)
    return rowCount === 1 && (await rest.call('GET', `/api/worlds/${id}/`)).status === 200
  })
const changeRow = (id: string, columns: Partial<typeof worlds.$inferInsert>) =>
  database.db.update(worlds).set(columns).where(eq(worlds.id, id))

test('a world and its bots go to the cluster of their place, and limits to both', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const [here, there] = await Promise.all([tenant.world({ compute: europe }), tenant.world({ compute: america })])
  await eu.world(namespace, here).exists()
  await us.world(namespace, there).exists()
  const bots = await aBotDeployment(tenant, there)
  await us.botDeployment(namespace, bots).exists()
  expect(await eu.botDeployment(namespace, bots).find()).toBeUndefined()
  expect(await eu.world(namespace, there).find()).toBeUndefined()
  expect(await us.world(namespace, here).find()).toBeUndefined()

  const path = `/api/organizations/${tenant.scope.organizationId}/limits/`
  expect((await tenant.rest.call('PATCH', path, { maxBotDeployments: 7 })).status).toBe(200)
  for (const cluster of [eu, us]) {
    await eventually('the quota has the limit', async () => quotaOf(cluster, tenant).includes('"7"'))
  }
})

test('a change whose mark names the cluster that the row has left reaches the cluster of the row', async () => {
  const tenant = await aTenant(api.url)
  const id = await tenant.world({ compute: america })
  await isSettled(tenant, id)
  await database.db.transaction(async (tx) => {
    await tx.execute(sql`update worlds set name = 'Renamed', revision = revision + 1 where id = ${id}`)
    await tx.execute(sql`insert into cluster_outbox (kind, id, revision, next_at)
      select 'world', id, revision, now() from worlds where id = ${id}`)
    await tx.execute(sql`update cluster_outbox set cluster = 'eu' where id = ${id}`)
  })
  await isSettled(tenant, id)
  const displayName = ['-o', 'jsonpath={.spec.displayName}']
  expect(us.kubectl('-n', namespaceOf(tenant), 'get', 'world', id, ...displayName)).toBe('Renamed')
})

test('a World that kubectl created belongs to its cluster, and the same id in another one is a stranger', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  await tenant.world({ compute: europe })
  const far = await tenant.world({ compute: america })
  await Promise.all(
    [eu, us].map((cluster) => eventually('the namespace is made', async () => quotaOf(cluster, tenant) !== '')),
  )
  const made = (name: string) => ({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'World',
    metadata: { name, namespace, labels: { 'orrery.dev/project': tenant.scope.projectId } },
    spec: { displayName: 'By hand', compute: america },
  })
  await us.worlds.create(made('lobby') as never)
  await eu.worlds.create({ ...made('lobby'), spec: { displayName: 'Also by hand', compute: europe } } as never)
  const names = async () =>
    (await tenant.rest.call<{ name: string }[]>('GET', '/api/worlds/')).body.map(({ name }) => name)
  await eventually('both have rows', async () => {
    const shown = await names()
    return shown.includes('By hand') && shown.includes('Also by hand')
  })
  await eu.worlds.create(made(far) as never)
  await eventually('the stranger is reported', async () =>
    (await readStatus()).findings.some(
      ({ type, cluster, name }) => type === 'Stranger' && cluster === 'eu' && name === far,
    ),
  )
  expect((await show(tenant, far)).compute.region).toBe('NorthAmerica')
})

test('an unreachable cluster does not delay the other one, and its rows say that they wait', async () => {
  const tenant = await aTenant(api.url)
  const endSilence = gate.fallSilent()
  try {
    const waiting = await concurrently(60, () => tenant.world({ compute: america }))
    for (let at = 0; at < 5; at += 1) {
      const startMs = performance.now()
      const id = await tenant.world({ compute: europe })
      await eu.world(namespaceOf(tenant), id).exists()
      expect(performance.now() - startMs).toBeLessThan(5_000)
    }
    expect((await fetch(`${api.url}/readyz`)).status).toBe(200)
    await eventually(
      'REST says that it waits',
      async () => (await show(tenant, waiting[0] ?? '')).status.message.startsWith('Waiting for the cluster: '),
      { timeoutMs: 60_000 },
    )
    endSilence()
    for (const id of waiting) await us.world(namespaceOf(tenant), id).exists()
  } finally {
    endSilence()
  }
})

test('the commands work for each cluster', async () => {
  expect(orrery('sync', 'status')).toMatch(/Cluster eu: Accepted[\s\S]*Cluster us: Accepted/)
  expect(orrery('sync', 'accept')).toContain('Name the cluster with --cluster')
  expect(orrery('sync', 'accept', '--cluster', 'us')).toContain('Nothing waits for acceptance')
  expect(orrery('sync', 'accept', '--cluster', 'asia')).toContain('The cluster asia is not configured')
})

test('orrery doctor compares every cluster that responds, names the one that differs, and fixes it there', async () => {
  const tenant = await aTenant(api.url)
  const places = [
    { name: 'eu', id: await tenant.world({ compute: europe }) },
    { name: 'us', id: await tenant.world({ compute: america }) },
  ]
  for (const { id } of places) await isSettled(tenant, id)
  await api.stop()
  for (const { id } of places) await changeRow(id, { name: 'Changed in the database' })
  const lineOf = ({ name, id }: { name: string; id: string }) =>
    `${name}: World ${id}: Its resource differs in displayName, and no push is pending.`
  const [here = '', there = ''] = places.map(lineOf)
  const config = JSON.parse(readFileSync(far.apiKubeconfig, 'utf8'))
  config.clusters[0].cluster.server = 'https://127.0.0.1:1'
  const unreachable = join(dir, 'unreachable.kubeconfig')
  writeFileSync(unreachable, JSON.stringify(config))
  const partial = orreryWith(unreachable, 'doctor')
  expect(partial).toContain(here)
  expect(partial).toContain('Cluster us cannot be compared: ')

  const fixed = orrery('doctor', '--fix', '--cluster', 'us')
  expect(fixed).toContain(there)
  expect(fixed).not.toContain(here)
  await restartApi()
  await eventually('the difference in the second cluster is fixed', async () => {
    const { spec } = await us.worlds.get({ namespace: namespaceOf(tenant), name: places[1]?.id ?? '' })
    return spec.displayName === 'Changed in the database'
  })
})

test('findings of the second cluster are resolved there, and so is its acceptance', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const [orphan, frozen] = await Promise.all([tenant.world({ compute: america }), tenant.world({ compute: america })])
  expect((await tenant.rest.call('PATCH', `/api/worlds/${frozen}/`, { name: 'Changed' })).status).toBe(200)
  for (const id of [orphan, frozen]) await isSettled(tenant, id)
  await database.db.delete(launchContexts).where(eq(launchContexts.worldId, orphan))
  await database.db.delete(worlds).where(eq(worlds.id, orphan))
  await changeRow(frozen, { revision: 1, name: 'Lobby' })
  us.kubectl('-n', namespace, 'annotate', 'worlds', '--all', 'example.com/touched=now')
  await eventually('both are found', async () => {
    const { findings } = await readStatus()
    const ofUs = findings.filter(({ cluster }) => cluster === 'us').map(({ type, name }) => `${type} ${name}`)
    return ofUs.includes(`Orphan ${orphan}`) && ofUs.includes(`Frozen ${frozen}`)
  })

  expect(orrery('sync', 'release', '--cluster', 'eu', frozen)).toContain(`${frozen} is not a frozen row.`)
  expect(orrery('sync', 'release', frozen)).toContain(`${namespace}/${frozen} is released.`)
  expect(orrery('sync', 'adopt', '--cluster', 'us', orphan)).toContain(`${namespace}/${orphan} is adopted.`)
  await eventually('the settings of the resource are back', async () => {
    const { body } = await tenant.rest.call<{ name: string }>('GET', `/api/worlds/${frozen}/`)
    return body.name === 'Changed'
  })
  for (const id of [orphan, frozen]) {
    expect((await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { name: 'Goes on' })).status).toBe(200)
    await eventually(
      'REST writes reach the second cluster again',
      async () => (await us.worlds.get({ namespace, name: id })).spec.displayName === 'Goes on',
    )
    expect(await eu.world(namespace, id).find()).toBeUndefined()
  }

  await database.db.execute(sql`update cluster_states set uid = 'another' where name = 'us'`)
  await eventually('it is refused', async () =>
    (await readStatus()).clusters.some(({ name, state }) => name === 'us' && state === 'AnotherCluster'),
  )
  await eu.world(namespace, await tenant.world({ compute: europe })).exists()
  const waiting = await tenant.world({ compute: america })
  expect(orrery('sync', 'accept', '--cluster', 'us')).toContain('is accepted in place of another')
  await us.world(namespace, waiting).exists()
})

test('a deleted world of the second cluster is restored there', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const id = await tenant.world({ compute: america })
  await us.world(namespace, id).exists()
  const bots = await aBotDeployment(tenant, id)
  await us.botDeployment(namespace, bots).exists()
  expect((await tenant.rest.call('DELETE', `/api/worlds/${id}/`)).status).toBe(200)
  await us.world(namespace, id).isGone()
  const restore = async () => (await tenant.rest.call('POST', `/api/worlds/${id}/restore/`)).status === 204
  await eventually('it is restored', restore)
  await us.world(namespace, id).exists()
  await us.botDeployment(namespace, bots).exists()
  expect(await eu.world(namespace, id).find()).toBeUndefined()
  expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
  await us.pod(namespace, id).exists()
})

test('logs are read and followed in the cluster of the world', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const { scope } = tenant
  const aServer = async (cluster: typeof eu, compute: object): Promise<string> => {
    const world = await tenant.world({ compute })
    expect((await tenant.rest.call('POST', `/api/worlds/${world}/start/`)).status).toBe(200)
    servers.set(`${namespace}/${world}`, await cluster.pod(namespace, world).exists())
    await cluster.pod(namespace, world).becomesReady()
    await eventually('it is Active', async () => (await show(tenant, world)).status.phase === 'Active')
    return world
  }
  const [here, there] = [await aServer(eu, europe), await aServer(us, america)]
  const read = async (world: string) => (await requestLog(api.url, { scope, world })).text()
  expect([await read(here), await read(there)]).toEqual(['hello from eu\n', 'hello from us\n'])
  const followed = await followLog(api.url, { scope, world: there })
  expect(followed.first).toContain('data: hello from us')
  expect((await tenant.rest.call('DELETE', `/api/worlds/${there}/`)).status).toBe(200)
  expect(await followed.ends()).toContain('"reason":"Deleted"')
})

describe('a world whose place changes to another cluster', () => {
  /** Starts a world in Europe with a bot, and waits until its server is ready. */
  const aRunningWorld = async () => {
    const tenant = await aTenant(api.url)
    const namespace = namespaceOf(tenant)
    const id = await tenant.world({ compute: europe })
    expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
    await eu.pod(namespace, id).exists()
    // It stays after its deletion, as a server that shuts down slowly.
    await eu.pod(namespace, id).isHeldBy('example.com/test')
    await eu.pod(namespace, id).becomesReady()
    await eventually('it is Active', async () => (await show(tenant, id)).status.phase === 'Active')
    const bots = await aBotDeployment(tenant, id)
    await eu.bots(namespace, bots).are([0])
    const put = async (compute: object) =>
      expect((await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { compute })).status).toBe(200)
    const restart = async () => expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
    return { tenant, namespace, id, bots, put, restart, watched: watchServers(namespace, id) }
  }

  /** Looks at both clusters without a pause, and remembers whether both had a server at the same time. */
  const watchServers = (namespace: string, id: string) => {
    let isOver = false
    let hadTwo = false
    const watching = (async () => {
      while (!isOver) {
        // The second look comes after the first, so a server that moves in between is not counted twice.
        const [first, second] = [await eu.pod(namespace, id).find(), await us.pod(namespace, id).find()]
        hadTwo ||= first !== undefined && second !== undefined && (await eu.pod(namespace, id).find()) !== undefined
      }
    })()
    return {
      hadTwo: async (): Promise<boolean> => {
        isOver = true
        await watching
        return hadTwo
      },
    }
  }

  test('stays until its next start, and starts there once its old server is gone, with its bots', async () => {
    const { tenant, namespace, id, bots, put, restart, watched } = await aRunningWorld()
    await put(america)
    expect((await show(tenant, id)).status.message).toContain('take effect at the next start')
    await restart()
    await eventually('REST says what it waits for', async () =>
      (await show(tenant, id)).status.message.includes('it moves from the cluster eu to the cluster us'),
    )
    await eventually(
      'the old server ends',
      async () => (await eu.pod(namespace, id).find())?.metadata.deletionTimestamp,
    )

    api.signal('SIGKILL')
    await api.stop()
    await restartApi()
    expect(await us.world(namespace, id).find()).toBeUndefined()
    expect(await eu.pod(namespace, id).find()).toBeDefined()

    await eu.pod(namespace, id).isHeldBy(null)
    await us.pod(namespace, id).exists()
    expect(await eu.world(namespace, id).find()).toBeUndefined()
    await us.pod(namespace, id).becomesReady()
    await eventually('it is Active', async () => (await show(tenant, id)).status.phase === 'Active')
    await us.botDeployment(namespace, bots).exists()
    expect(await eu.botDeployment(namespace, bots).find()).toBeUndefined()
    await us.bots(namespace, bots).are([0])
    expect(await watched.hadTwo()).toBe(false)
    expect((await show(tenant, id)).status.message).toBe('')
    type Run = { compute: { clusterName: string }; status: string }
    const runs = (await tenant.rest.call<Run[]>('GET', `/api/worlds/${id}/deployments/`)).body
    expect(runs.map(({ compute }) => compute.clusterName)).toEqual(['eu', 'us'])
  })

  test('waits for an unreachable cluster, and goes on when that responds', async () => {
    const tenant = await aTenant(api.url)
    const namespace = namespaceOf(tenant)
    const id = await tenant.world({ compute: america })
    await us.world(namespace, id).exists()
    gate.close()
    try {
      expect((await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { compute: europe })).status).toBe(200)
      expect((await tenant.rest.call('POST', `/api/worlds/${id}/start/`)).status).toBe(200)
      await eventually('REST says that it waits', async () =>
        (await show(tenant, id)).status.message.startsWith('Waiting for the cluster: '),
      )
      expect(await eu.world(namespace, id).find()).toBeUndefined()
    } finally {
      gate.open()
    }
    await eu.pod(namespace, id).exists()
    expect(await us.world(namespace, id).find()).toBeUndefined()
  })

  test('moves at once without a run, also there and back, and by an edit with kubectl', async () => {
    const tenant = await aTenant(api.url)
    const namespace = namespaceOf(tenant)
    const id = await tenant.world({ compute: europe })
    const put = (compute: object) => tenant.rest.call('PATCH', `/api/worlds/${id}/`, { compute })
    await eu.world(namespace, id).exists()
    await put(america)
    await put(europe)
    await put(america)
    await us.world(namespace, id).exists()
    await eu.world(namespace, id).isGone()
    const spec = { compute: { region: 'Europe' } }
    us.kubectl('-n', namespace, 'patch', 'world', id, '--type=merge', '-p', JSON.stringify({ spec }))
    await eu.world(namespace, id).exists()
    await us.world(namespace, id).isGone()
    expect((await show(tenant, id)).compute.region).toBe('Europe')

    const { metadata, ...rest } = await eu.worlds.get({ namespace, name: id })
    const { name, labels = {}, finalizers = [] } = metadata
    const older = { ...rest, metadata: { name, namespace, labels, finalizers }, spec: { ...rest.spec, revision: 1 } }
    await us.worlds.create(older)
    await us.world(namespace, id).isGone()
    await eu.world(namespace, id).exists()
    expect((await tenant.rest.call('DELETE', `/api/worlds/${id}/`)).status).toBe(200)
    await eu.world(namespace, id).isGone()
  })
})

test('the list is read again: clusters join and leave, places change, and an invalid list is refused', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const asia = { group: 'production', region: 'AsiaPacific' }
  const create = async (compute: object) => {
    const { status, body } = await tenant.rest.call<{ worldId: string }>('POST', '/api/worlds/', {
      name: 'Lobby',
      transient: false,
      compute,
    })
    return { status, id: body.worldId }
  }
  expect((await create(asia)).status).toBe(400)
  list(inEurope, { ...inAmerica(), places: [america, asia] })
  const served = await eventually('the new place is served', async () => {
    const made = await create(asia)
    return made.status === 200 && made
  })
  await us.world(namespace, served.id).exists()

  writeFileSync(clustersFile, '[{')
  await eventually('it is refused', async () =>
    logLines(api.logFile).some(({ msg }) => msg === 'could not load the new clusters, still using the previous ones'),
  )
  expect((await create(asia)).status).toBe(200)

  list(inEurope)
  await eventually('the place is no longer served', async () => (await create(asia)).status === 400)
  expect((await tenant.rest.call('PATCH', `/api/worlds/${served.id}/`, { name: 'Renamed' })).status).toBe(200)
  await eventually('REST says that it waits', async () =>
    (await show(tenant, served.id)).status.message.includes('the cluster us is not configured'),
  )
  expect((await us.worlds.get({ namespace, name: served.id })).spec.displayName).toBe('Lobby')

  list(inEurope, inAmerica())
  await eventually(
    'it is pushed again',
    async () => (await us.worlds.get({ namespace, name: served.id })).spec.displayName === 'Renamed',
  )
  await eventually('the message is gone', async () => (await show(tenant, served.id)).status.message === '')

  list(inEurope, inAmerica(), { name: 'twin', places: [asia], kubeconfig: getServers().apiKubeconfig })
  await eventually('a second name of a cluster is refused', async () =>
    (await (await fetch(api.metricsUrl)).text()).includes('orrery_cluster_accepted{cluster="twin"} 0'),
  )
  list(inEurope, inAmerica())
})
