import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defaultPorts } from '#shared/domain/ports.ts'
import type { GrantedRun, WorldSpecInput } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { logLines, startOperator } from '#test/support/processes.ts'
import { eventually } from '#test/support/wait.ts'

// The operator alone, in the namespace of an organization: the test writes what the API would write.

const cluster = aCluster()
const organizationId = 'org-0000000000000000000000000a'
const projectId = 'prj-0000000000000000000000000a'
const namespace = `orrery-${organizationId}`
const startedAt = new Date().toISOString()
const runId = (last: string) => `run-0000000000000000000000000${last}`
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  cluster.kubectl('create', 'namespace', namespace)
  cluster.kubectl('label', 'namespace', namespace, `orrery.dev/organization=${organizationId}`)
  cluster.allowOperator(namespace)
  operator = await startOperator({ ORRERY_STOP_GRACE_SECONDS: '1' })
})
afterAll(async () => {
  cluster.kubectl('-n', namespace, 'delete', 'world', '--all')
  cluster.kubectl('annotate', 'namespace', namespace, 'orrery.dev/allow-delete=true')
  cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
  await operator?.stop()
  await cluster.close()
})

const aWorld = (name: string, annotations: Record<string, string> = {}) => {
  const apply = (spec: WorldSpecInput) =>
    cluster.worlds.apply(
      {
        apiVersion: 'orrery.dev/v1alpha1',
        kind: 'World',
        metadata: { name, namespace, annotations, labels: { 'orrery.dev/organization': 'org-of-somebody-else' } },
        spec,
      },
      { fieldManager: 'test', force: true },
    )
  const read = () => cluster.worlds.get({ namespace, name })
  const grant = async (changes: Partial<GrantedRun> = {}) => {
    const { uid = '' } = (await read()).metadata
    const granted = {
      uid,
      organizationId,
      projectId,
      worldId: 'wld-0000000000000000000000000a',
      id: runId('a'),
      startedAt,
      image: 'registry.example/granted:1',
      profile: 'Capacity30',
      mapName: 'granted',
      capacity: 7,
      probes: true,
      args: [],
      strategy: 'Default',
      ports: defaultPorts,
      compute: { group: 'production', region: 'Europe' },
      ...changes,
    } satisfies GrantedRun
    return apply({
      state: 'Running',
      revision: 1,
      runId: granted.id,
      startedAt,
      runtime: { mapName: 'asked' },
      granted,
    })
  }
  return {
    apply,
    grant,
    pod: cluster.pod(namespace, name),
    annotate: (value: string) => cluster.kubectl('-n', namespace, 'annotate', 'world', name, value, '--overwrite'),
    shows: (reason: string, type = 'Progressing') =>
      eventually(`${type} with reason ${reason}`, async () => {
        const { status } = await read()
        return status?.conditions?.some((each) => each.type === type && each.reason === reason) && status
      }),
  }
}

describe('in the namespace of an organization', () => {
  test('a start waits for its grant, and then runs what was granted, whatever the spec and its labels say', async () => {
    const world = aWorld('granted')
    await world.apply({ state: 'Running', runtime: { image: 'registry.example/asked:1' } })
    const waiting = await world.shows('WaitingForApi')
    expect(waiting).toMatchObject({ phase: 'Inactive', message: 'Waiting for the API to confirm the start.' })
    await world.grant({ uid: 'of-the-original' })
    await eventually('the grant is foreign', async () =>
      (await world.shows('WaitingForApi')).message?.includes('belongs to another resource'),
    )
    expect(await world.pod.find()).toBeUndefined()
    await world.grant()
    const { metadata, spec } = await world.pod.exists()
    expect(spec?.containers?.[0]?.image).toBe('registry.example/granted:1')
    expect(metadata.labels).toMatchObject({
      'orrery.dev/organization': organizationId,
      'orrery.dev/project': projectId,
      'orrery.dev/world-id': 'wld-0000000000000000000000000a',
    })
    await world.pod.becomesReady()
    expect((await world.shows('ServerReady', 'Ready')).run).toMatchObject({ id: runId('a'), mapName: 'granted' })
    await world.apply({ state: 'Stopped', revision: 1, runId: runId('a'), startedAt })
    await world.pod.isGone()
  })

  test('a closed namespace stops its worlds, also a paused one, and begins nothing', async () => {
    const [running, paused, later] = ['running', 'paused', 'later'].map((name) => aWorld(name))
    if (running === undefined || paused === undefined || later === undefined) throw new Error('A world is missing.')
    for (const [at, world] of [running, paused].entries()) {
      await world.apply({ state: 'Stopped' })
      await world.grant({ id: runId(String(at)) })
      await world.pod.exists()
      await world.pod.becomesReady()
      await world.shows('ServerReady', 'Ready')
    }
    paused.annotate('orrery.dev/paused=true')
    await paused.shows('Paused')
    cluster.kubectl('annotate', 'namespace', namespace, 'orrery.dev/closed=true')
    for (const world of [running, paused]) {
      await world.pod.isGone()
      expect((await world.shows('OrganizationDeleted', 'Ready')).phase).toBe('Stopped')
    }
    await later.apply({ state: 'Stopped' })
    await later.grant({ id: runId('2') })
    await later.shows('OrganizationDeleted')
    expect(await later.pod.find()).toBeUndefined()
  })
})

test('the log says at the start that spec.granted is not protected, if its admission policy is not bound', async () => {
  const isWarned = ({ msg }: Record<string, unknown>) => String(msg).startsWith('spec.granted is not protected')
  expect(logLines(operator.logFile).some(isWarned)).toBe(false)
  const binding = ['validatingadmissionpolicybinding', 'orrery-run-fields'] as const
  const validate = (actions: string[]) =>
    cluster.kubectl('patch', ...binding, '--type=merge', '-p', JSON.stringify({ spec: { validationActions: actions } }))
  await operator.stop()
  validate(['Audit'])
  try {
    operator = await startOperator()
    await eventually('the warning', async () => logLines(operator.logFile).some(isWarned))
  } finally {
    validate(['Deny'])
  }
})
