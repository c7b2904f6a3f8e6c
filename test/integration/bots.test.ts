import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, logLines, startApi, startOperator } from '#test/support/processes.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'

let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-bots-'))

beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), cluster.close()])
  rmSync(dir, { recursive: true, force: true })
})

type BotsBody = {
  documentId: string
  configuration: { count: number }
  status: { phase: string; message: string; startedAt?: number }
}

/** Creates a world of the smallest profile with bots, and starts it by default. */
const aWorldWithBots = async (body: object, { started = true } = {}) => {
  const rest = await inNewProject(api.url)
  const networking = { strategy: 'Default', scaling: { profile: 'Capacity10' } }
  const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    networking,
  })
  const worldId = made.body.worldId
  const namespace = `orrery-${rest.scope.organizationId}`
  const server = cluster.pod(namespace, worldId)
  const worldPhase = (phase: string) =>
    eventually(`the world is ${phase}`, async () => {
      const world = await rest.call<WorldBody>('GET', `/api/worlds/${worldId}/`)
      return world.body.status.phase === phase
    })
  const start = async (ip = '10.0.0.7') => {
    const before = (await server.find())?.metadata.uid
    await rest.call('POST', `/api/worlds/${worldId}/start/`)
    await eventually('a server', async () => ![undefined, before].includes((await server.find())?.metadata.uid))
    await server.becomesReady({ ip })
    await worldPhase('Active')
  }
  if (started === true) await start()
  const path = `/api/worlds/${worldId}/bots/`
  expect((await rest.call('POST', path, body)).status).toBe(200)
  const [{ documentId: id } = { documentId: '' }] = (await rest.call<BotsBody[]>('GET', path)).body
  const read = async () => (await rest.call<BotsBody>('GET', `${path}${id}/`)).body
  return {
    id,
    worldId,
    namespace,
    rest,
    path: `${path}${id}/`,
    read,
    start,
    server,
    world: (verb: 'start' | 'stop') => rest.call('POST', `/api/worlds/${worldId}/${verb}/`),
    bots: cluster.bots(namespace, id),
    resource: cluster.botDeployment(namespace, id),
    phase: (phase: string) =>
      eventually(`the bots are ${phase}`, async () => {
        const bots = await read()
        return bots.status.phase === phase && bots
      }),
  }
}

const apply = (namespace: string, kind: string, name: string, spec: object): void => {
  const file = join(dir, `${namespace}-${name}.json`)
  writeFileSync(file, JSON.stringify({ apiVersion: 'orrery.dev/v1alpha1', kind, metadata: { name }, spec }))
  cluster.kubectl('apply', '-n', namespace, '-f', file)
}
const aNamespace = (name: string): string => {
  cluster.kubectl('create', 'namespace', name)
  cluster.allowOperator(name)
  cluster.kubectl('label', 'namespace', name, 'pod-security.kubernetes.io/enforce=restricted')
  return name
}
const aWorldByHand = async (namespace: string, name: string): Promise<void> => {
  apply(namespace, 'World', name, { state: 'Running', scaling: { profile: 'Capacity1000' } })
  await cluster.pod(namespace, name).exists()
  await cluster.pod(namespace, name).becomesReady()
}

describe('bots over REST', () => {
  test('start, stop and start again with their world, scale in place, and end when they are deleted', async () => {
    const bots = await aWorldWithBots({ count: 3, args: ['--dance', '$(HOME)'] }, { started: false })
    await eventually('they wait', async () => (await bots.read()).status.message.includes('to be Active'))
    expect(await bots.read()).toMatchObject({ status: { phase: 'Pending' } })
    expect(await bots.bots.indexes()).toEqual([])

    await bots.start('10.1.2.3')
    await bots.bots.are([0, 1, 2])
    await bots.phase('Starting')
    await bots.bots.becomeReady()
    const running = await bots.phase('Running')
    expect(running.status.startedAt).toBeGreaterThan(Date.now() - 60_000)
    const first = await bots.bots.list()
    expect(first[2]).toMatchObject({
      metadata: {
        name: `${bots.id}-2`,
        labels: { 'orrery.dev/world': bots.worldId, 'orrery.dev/bot-deployment': bots.id },
      },
      spec: { terminationGracePeriodSeconds: 15, containers: [{ args: ['--dance', '$$(HOME)'] }] },
    })
    expect(environmentOf(first[2])).toMatchObject({
      ORRERY_WORLD_ADDRESS: '10.1.2.3:7777',
      ORRERY_BOT_DEPLOYMENT_ID: bots.id,
      ORRERY_BOT_INDEX: '2',
      ...{
        ORRERY_BOT_COUNT: '3',
        ORRERY_WORLD_ID: bots.worldId,
        ORRERY_ORGANIZATION_ID: bots.rest.scope.organizationId,
      },
    })

    await bots.rest.call('PATCH', bots.path, { count: 5, memory: '256Mi' })
    await bots.bots.are([0, 1, 2, 3, 4])
    await bots.bots.becomeReady()
    await bots.phase('Running')
    await bots.rest.call('PATCH', bots.path, { count: 2 })
    await bots.bots.are([0, 1])
    const kept = await bots.bots.list()
    expect(kept.map(({ metadata }) => metadata.uid)).toEqual(first.slice(0, 2).map(({ metadata }) => metadata.uid))
    expect(kept[0]).toMatchObject({ spec: { containers: [{ resources: { limits: { memory: '128Mi' } } }] } })

    await bots.world('stop')
    await bots.bots.are([])
    await bots.phase('Stopped')
    await bots.start()
    await bots.bots.are([0, 1])
    expect((await bots.bots.list())[0]).toMatchObject({
      spec: { containers: [{ resources: { limits: { memory: '256Mi' } } }] },
    })
    await bots.bots.becomeReady()
    await bots.phase('Running')

    await bots.rest.call('DELETE', bots.path)
    expect((await bots.rest.call('GET', bots.path)).status).toBe(404)
    await bots.resource.isGone()
    expect(await bots.bots.indexes()).toEqual([])
  })

  test('move to the new server when their world restarts', async () => {
    const bots = await aWorldWithBots({ count: 2 })
    await bots.bots.are([0, 1])
    const before = (await bots.bots.list()).map(({ metadata }) => metadata.uid)
    await bots.start('10.0.0.8')
    await eventually('new bots of the new address', async () => {
      const now = await bots.bots.list()
      const moved = now.every((pod) => environmentOf(pod).ORRERY_WORLD_ADDRESS === '10.0.0.8:7777')
      return now.length === 2 && moved && now.every(({ metadata }) => !before.includes(metadata.uid))
    })
  })

  test('that fail are replaced, and end in Error after too many failures', async () => {
    const bots = await aWorldWithBots({ count: 1 })
    let last = ''
    for (let attempt = 0; attempt < 4; attempt += 1) {
      const pod = await eventually(`bot ${attempt}`, async () => {
        const [found] = await bots.bots.list()
        return found !== undefined && found.metadata.uid !== last && found
      })
      last = pod.metadata.uid ?? ''
      await bots.bots.pod(0).exits(3)
    }
    expect((await bots.phase('Error')).status.message).toContain('exit code 3')
    await bots.bots.are([])
  })

  test('that exit with 0 are complete, and their bot deployment is Stopped', async () => {
    const bots = await aWorldWithBots({ count: 2 })
    await bots.bots.are([0, 1])
    for (const index of [0, 1]) await bots.bots.pod(index).exits(0)
    await bots.phase('Stopped')
    await bots.bots.are([])
  })

  test('stop after their duration', async () => {
    const bots = await aWorldWithBots({ count: 2, durationMinutes: 60 })
    await bots.bots.are([0, 1])
    const duration = JSON.stringify({ spec: { durationMinutes: 0.01 } })
    cluster.kubectl('-n', bots.namespace, 'patch', 'botdeployment', bots.id, '--type=merge', '-p', duration)
    expect((await bots.phase('Stopped')).status.message).toBe('The duration of the bots is over.')
    await bots.bots.are([])
  })

  test('are scaled by kubectl, and REST shows it', async () => {
    const bots = await aWorldWithBots({ count: 1 })
    await bots.bots.are([0])
    cluster.kubectl('-n', bots.namespace, 'scale', 'botdeployment', bots.id, '--replicas=4')
    await bots.bots.are([0, 1, 2, 3])
    await eventually('the count in REST', async () => (await bots.read()).configuration.count === 4)
    await bots.bots.becomeReady()
    await bots.phase('Running')
    cluster.kubectl('-n', bots.namespace, 'scale', 'botdeployment', bots.id, '--replicas=0')
    await eventually('no bots in REST', async () => (await bots.read()).configuration.count === 0)
    await bots.bots.are([])
  })

  test('that kubectl creates beyond the profile wait for the API until there is room', async () => {
    const bots = await aWorldWithBots({ count: 8 })
    await bots.bots.are([0, 1, 2, 3, 4, 5, 6, 7])
    apply(bots.namespace, 'BotDeployment', 'late', { worldName: bots.worldId, count: 5 })
    await eventually('it waits', async () => {
      const { status } = await cluster.botDeployment(bots.namespace, 'late').exists()
      return status?.phase === 'Pending' && status.message?.startsWith('Waiting for the API to confirm the bots.')
    })
    await bots.rest.call('PATCH', bots.path, { count: 5 })
    await cluster.bots(bots.namespace, 'late').are([0, 1, 2, 3, 4])
  })

  test('beyond the profile are not created: the oldest deployments keep theirs, and the newest report it', async () => {
    const bots = await aWorldWithBots({ count: 8 })
    await bots.bots.are([0, 1, 2, 3, 4, 5, 6, 7])
    await bots.world('stop')
    await bots.phase('Stopped')
    const made = await bots.rest.call('POST', `/api/worlds/${bots.worldId}/bots/`, { count: 5 })
    const late = made.headers.get('location')?.split('/').at(-2) ?? ''
    await cluster.botDeployment(bots.namespace, late).exists()
    await bots.start()
    await bots.bots.are([0, 1, 2, 3, 4, 5, 6, 7])
    await cluster.bots(bots.namespace, late).are([0, 1])
    await cluster.bots(bots.namespace, late).becomeReady()
    cluster.kubectl('-n', bots.namespace, 'wait', '--for=condition=LimitExceeded', '--timeout=120s', `bots/${late}`)
    expect(cluster.kubectl('-n', bots.namespace, 'get', 'bots', late, '-o', 'wide')).toContain('2 of 5 bots may run')
    await bots.rest.call('PATCH', bots.path, { count: 5 })
    await cluster.bots(bots.namespace, late).are([0, 1, 2, 3, 4])
  })
})

describe('a BotDeployment by kubectl alone', () => {
  test('waits for a missing world, reports it, and runs once it exists', async () => {
    const namespace = aNamespace('bots-alone')
    apply(namespace, 'BotDeployment', 'guests', { worldName: 'later', count: 2 })
    await eventually('the reason', async () => {
      const { status } = (await cluster.botDeployment(namespace, 'guests').find()) ?? {}
      return status?.phase === 'Pending' && status.message?.includes('World later does not exist')
    })
    await aWorldByHand(namespace, 'later')
    const guests = cluster.bots(namespace, 'guests')
    await guests.are([0, 1])
    await guests.becomeReady()
    cluster.kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', 'botdeployment/guests')
    expect(cluster.kubectl('-n', namespace, 'get', 'bots')).toMatch(
      /NAME +WORLD +PHASE +COUNT +READY +AGE\nguests +later +Running +2 +2/,
    )
    expect(cluster.kubectl('explain', 'botdeployment.status.run.failedIndexes')).toContain('used up their restarts')

    cluster.kubectl('-n', namespace, 'delete', 'bots', 'guests', '--cascade=foreground', '--wait=false')
    await guests.are([])
  })

  test('of the longest name that there is has bots with valid names', async () => {
    const namespace = aNamespace('bots-long')
    await aWorldByHand(namespace, 'w')
    const name = `${'long.'.repeat(12)}abc`
    expect(name).toHaveLength(63)
    apply(namespace, 'BotDeployment', name, { worldName: 'w', count: 1 })
    await cluster.bots(namespace, name).are([0])
  })

  test('does not touch a world with the name of its bot, and reports the name as taken', async () => {
    const namespace = aNamespace('bots-taken')
    await aWorldByHand(namespace, 'hall-1')
    const server = await cluster.pod(namespace, 'hall-1').exists()
    apply(namespace, 'BotDeployment', 'hall', { worldName: 'hall-1', count: 9 })
    await eventually('the reason', async () =>
      (await cluster.botDeployment(namespace, 'hall').find())?.status?.message?.includes(
        'Pod hall-1 belongs to another owner',
      ),
    )
    expect((await cluster.pod(namespace, 'hall-1').find())?.metadata.uid).toBe(server.metadata.uid)
    await cluster.bots(namespace, 'hall').are([0, 2, 3, 4, 5, 6, 7, 8])
  })

  test('limited by a quota has as many bots as fit, reports it, and continues once there is room', async () => {
    const namespace = aNamespace('bots-quota')
    await aWorldByHand(namespace, 'w')
    cluster.kubectl('-n', namespace, 'create', 'quota', 'few', '--hard=pods=4')
    // There is no controller-manager to count the use of the quota, so the test does it.
    await cluster.quotaUses(namespace, 'few', { pods: 1 })
    apply(namespace, 'BotDeployment', 'guests', { worldName: 'w', count: 40 })
    const guests = cluster.botDeployment(namespace, 'guests')
    await eventually('the reason', async () => {
      const { status } = (await guests.find()) ?? {}
      const degraded = status?.conditions?.find(({ type }) => type === 'Degraded')
      return (
        status?.replicas === 3 &&
        degraded?.reason === 'QuotaExceeded' &&
        degraded.message.includes('The quota of the namespace has no room for the bots.')
      )
    })
    expect(await cluster.bots(namespace, 'guests').indexes()).toHaveLength(3)
    cluster.kubectl('-n', namespace, 'delete', 'quota', 'few')
    await cluster.bots(namespace, 'guests').are(Array.from({ length: 40 }, (_, index) => index))
  })

  test('that has settled is not written again', async () => {
    const namespace = aNamespace('bots-quiet')
    await aWorldByHand(namespace, 'w')
    apply(namespace, 'BotDeployment', 'guests', { worldName: 'w', count: 2 })
    const guests = cluster.bots(namespace, 'guests')
    await guests.are([0, 1])
    await guests.becomeReady()
    const version = async () => (await cluster.botDeployment(namespace, 'guests').exists()).metadata.resourceVersion
    cluster.kubectl('-n', namespace, 'wait', '--for=condition=Ready', '--timeout=120s', 'bots/guests')
    const before = await version()
    // A new operator starts without state and must find nothing to do.
    await operator.stop()
    operator = await startOperator()
    apply(namespace, 'BotDeployment', 'after', { worldName: 'w', count: 1 })
    await cluster.bots(namespace, 'after').are([0])
    expect(await version()).toBe(before)
    const about = logLines(operator.logFile).filter(({ bots }) => bots === `${namespace}/guests`)
    expect(about).toEqual([])
  })
})

test('an operator that is killed while it creates bots continues after its restart', async () => {
  const namespace = aNamespace('bots-killed')
  await aWorldByHand(namespace, 'w')
  const counts = [100, 150, 250]
  for (const count of counts) apply(namespace, 'BotDeployment', `of-${count}`, { worldName: 'w', count })
  await eventually('some bots', async () => (await cluster.bots(namespace, 'of-250').indexes()).length > 20, {
    timeoutMs: 45_000,
  })
  operator.signal('SIGKILL')
  await operator.exited
  operator = await startOperator()
  for (const count of counts) {
    await cluster.bots(namespace, `of-${count}`).are(Array.from({ length: count }, (_, index) => index))
  }
})

const environmentOf = (pod: object | undefined): Record<string, string> => {
  const { spec } = pod as { spec: { containers: { env: { name: string; value?: string }[] }[] } }
  return Object.fromEntries((spec.containers[0]?.env ?? []).map(({ name, value = '' }) => [name, value]))
}
