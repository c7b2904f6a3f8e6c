import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { WorldSpecInput } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { logLines, startOperator } from '#test/support/processes.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-faults-'))
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  operator = await startOperator({ ORRERY_STOP_GRACE_SECONDS: '1' })
})
afterAll(async () => {
  await operator?.stop()
  await cluster.close()
  rmSync(dir, { recursive: true, force: true })
})

const apply = (object: object): void => {
  const file = join(dir, `${randomBytes(6).toString('hex')}.json`)
  writeFileSync(file, JSON.stringify(object))
  cluster.kubectl('apply', '-f', file)
}

/** Creates a namespace in which the test applies its objects. */
const aNamespace = (): string => {
  const namespace = `faults-${randomBytes(4).toString('hex')}`
  cluster.kubectl('create', 'namespace', namespace)
  cluster.allowOperator(namespace)
  return namespace
}

const change = (namespace: string, patch: object): void => {
  cluster.kubectl('-n', namespace, 'patch', 'world', 'w', '--type=merge', '-p', JSON.stringify(patch))
}

/** Applies a World in a namespace, and returns functions that observe it. */
const aWorld = (spec: WorldSpecInput = {}, namespace = aNamespace()) => {
  apply({
    apiVersion: 'orrery.dev/v1alpha1',
    kind: 'World',
    metadata: { name: 'w', namespace },
    spec: { state: 'Running', ...spec },
  })
  const resource = cluster.world(namespace, 'w')
  const shows = (type: string, wanted: string) =>
    eventually(`${type} ${wanted}`, async () => {
      const world = await resource.find()
      const condition = world?.status?.conditions?.find((each) => each.type === type)
      const seen = `${condition?.status}/${condition?.reason}`
      if (seen !== wanted) throw new Error(`it is ${seen}: ${world?.status?.message}`)
      return world
    })
  const pod = cluster.pod(namespace, 'w')
  const anotherPod = (than: string) =>
    eventually('another pod', async () => {
      const found = await pod.find()
      return found !== undefined && found.metadata.uid !== than && found
    })
  /** Waits for an event whose note contains this message of the cluster. The status must not contain it. */
  const keepsToEvents = (words: string) =>
    eventually(`an event with ${words}`, async () => {
      const notes = cluster.kubectl('-n', namespace, 'get', 'events.events.k8s.io', '-o', 'jsonpath={.items[*].note}')
      expect(JSON.stringify((await resource.find())?.status)).not.toContain(words)
      return notes.includes(words)
    })
  return { namespace, resource, pod, service: cluster.service(namespace, 'w'), shows, anotherPod, keepsToEvents }
}

const anActiveWorld = async (spec: WorldSpecInput = {}, node?: string) => {
  const world = aWorld(spec)
  const { metadata } = await world.pod.exists()
  if (node !== undefined) await world.pod.isPutOn(node)
  await world.pod.becomesReady()
  await world.shows('Ready', 'True/ServerReady')
  return { ...world, uid: metadata.uid ?? '' }
}

describe('a server that does not come up', () => {
  test('for a missing image is Degraded and runs once the image exists', async () => {
    const world = aWorld()
    await world.pod.exists()
    await world.pod.cannotPullItsImage('registry.example/world-server:1: not found')
    const seen = await world.shows('Degraded', 'True/ImagePullFailed')
    expect(seen.status?.message).toContain('The server image cannot be pulled.')
    await world.keepsToEvents('registry.example/world-server:1: not found')
    await world.pod.becomesReady()
    await world.shows('Degraded', 'False/AsExpected')
    await world.shows('Ready', 'True/ServerReady')
  })

  test('without a fitting node is Unschedulable', async () => {
    const world = aWorld()
    await world.pod.exists()
    await world.pod.fitsNowhere('0/3 nodes are available: 3 Insufficient memory.')
    const seen = await world.shows('Degraded', 'True/Unschedulable')
    expect(seen.status).toMatchObject({
      phase: 'Starting',
      message: expect.stringContaining('No node has room for the server.'),
      deployment: { status: 'Pending' },
    })
    await world.keepsToEvents('0/3 nodes are available: 3 Insufficient memory.')
  })

  test('for a quota reports the quota, retries rarely, and starts once there is room', async () => {
    const namespace = aNamespace()
    const quota = { pods: '0' }
    apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'none', namespace }, spec: { hard: quota } })
    const status = (hard: string): void => {
      const patch = JSON.stringify({ status: { hard: { pods: hard }, used: { pods: '0' } } })
      cluster.kubectl('-n', namespace, 'patch', 'quota', 'none', '--subresource=status', '--type=merge', '-p', patch)
    }
    status('0')
    const world = aWorld({}, namespace)
    const seen = await world.shows('Degraded', 'True/QuotaExceeded')
    expect(seen.status?.message).toContain('The quota of the namespace has no room for the server.')
    await world.keepsToEvents('exceeded quota: none')
    const version = seen.metadata.resourceVersion
    const attempts = () =>
      logLines(operator.logFile).filter((line) => JSON.stringify(line).includes(`${namespace}/pods: pods`)).length
    await eventually('further attempts', async () => attempts() > 8)
    // The world is written once, however often the pod is retried.
    expect((await world.resource.find())?.metadata.resourceVersion).toBe(version)
    cluster.kubectl('-n', namespace, 'delete', 'quota', 'none')
    await world.pod.exists()
    await world.shows('Degraded', 'False/AsExpected')
  })

  test('for a policy of the cluster reports the policy and the reason', async () => {
    const namespace = aNamespace()
    const policy = `no-worlds-${namespace}`
    apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: policy },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        },
        validations: [{ expression: 'false', message: 'no servers on Saturdays' }],
      },
    })
    apply({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: policy },
      spec: {
        policyName: policy,
        validationActions: ['Deny'],
        matchResources: { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } } },
      },
    })
    const probe = ['-n', namespace, 'run', 'probe', '--image=i', '--dry-run=server', '--restart=Never']
    await eventually('the policy acts', async () => {
      try {
        cluster.kubectl(...probe)
        return false
      } catch (error) {
        return String((error as { stderr?: unknown }).stderr).includes('Saturdays')
      }
    })
    const world = aWorld({}, namespace)
    const seen = await world.shows('Degraded', 'True/AdmissionRefused')
    expect(seen.status?.message).toContain('A policy of the cluster refused the server.')
    await world.keepsToEvents('no servers on Saturdays')
    expect(await world.pod.find()).toBeUndefined()
    cluster.kubectl('delete', 'validatingadmissionpolicybinding,validatingadmissionpolicy', policy)
  })

  test('for a pod name that a stranger has reports the name and does not change the stranger', async () => {
    const namespace = aNamespace()
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    apply({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'w', namespace }, spec })
    const world = aWorld({}, namespace)
    await world.shows('Degraded', 'True/PodNameTaken')
    await world.pod.hasStopped()
    const made = await world.pod.exists()
    expect(made.metadata.ownerReferences?.[0]?.kind).toBe('World')
  })
})

describe('a server that is lost', () => {
  test('to its memory limit is restarted, while the world stays Active', async () => {
    const world = await anActiveWorld()
    await world.pod.runsOutOfMemory()
    const seen = await world.shows('Degraded', 'True/OutOfMemory')
    expect(seen.status).toMatchObject({ phase: 'Active', deployment: { status: 'Restarting' } })
    expect(seen.status?.message).toContain('exceeded its memory limit of 4Gi')
    await world.anotherPod(world.uid)
    await world.pod.becomesReady()
    await world.shows('Degraded', 'False/AsExpected')
  })

  test('repeatedly ends in Error after three restarts', async () => {
    const world = await anActiveWorld()
    let last = ''
    for (let attempt = 0; attempt < 4; attempt += 1) {
      last = (await world.anotherPod(last)).metadata.uid ?? ''
      await world.pod.exits(3)
      if (attempt === 1) await world.shows('Degraded', 'True/CrashLoop')
    }
    await world.shows('Ready', 'False/RestartBudget')
    await world.pod.isGone()
    const seen = await world.shows('Progressing', 'False/RestartBudget')
    expect(seen.status).toMatchObject({ phase: 'Error', deployment: { status: 'Error' } })
    expect(seen.status?.message).toBe('Failed 4 times; last error: the server failed with exit code 3.')
    await world.shows('Degraded', 'True/CrashLoop')
  })

  test('by evictions is replaced each time, without spending the restart budget', async () => {
    const world = await anActiveWorld()
    let { uid } = world
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await world.pod.isEvicted('The node was low on resource: memory.')
      const seen = await world.shows('Degraded', 'True/Evicted')
      expect(seen.status).toMatchObject({ phase: 'Active', run: { restarts: 0 } })
      uid = (await world.anotherPod(uid)).metadata.uid ?? ''
      await world.pod.becomesReady()
      await world.shows('Ready', 'True/ServerReady')
    }
  })
})

describe('a node that is lost', () => {
  const aNode = async () => {
    const name = `node-${randomBytes(4).toString('hex')}`
    await cluster.node(name).joins()
    return { name, ...cluster.node(name) }
  }

  test('keeps its server, even if the pod is being deleted, until the node is gone', async () => {
    const node = await aNode()
    const world = await anActiveWorld({}, node.name)
    await node.isOutOfSight()
    const seen = await world.shows('Ready', 'Unknown/NodeUnreachable')
    expect(seen.status).toMatchObject({ phase: 'Active', deployment: { status: 'Unknown' } })
    expect(seen.status?.message).toContain(`Node ${node.name} has not reported since`)
    cluster.kubectl('-n', world.namespace, 'delete', 'pod', 'w', '--wait=false')
    await world.shows('Ready', 'False/NodeUnreachable')
    expect((await world.pod.find())?.metadata.uid).toBe(world.uid)
    await node.isRemoved()
    const next = await world.anotherPod(world.uid)
    expect(next.metadata.deletionTimestamp).toBeUndefined()
    expect((await world.resource.find())?.status?.run?.restarts).toBe(0)
  })

  test('and returns leaves its world unchanged', async () => {
    const node = await aNode()
    const world = await anActiveWorld({}, node.name)
    await node.isOutOfSight()
    await world.shows('Ready', 'Unknown/NodeUnreachable')
    await node.isSeen()
    const seen = await world.shows('Ready', 'True/ServerReady')
    expect(seen.status?.deployment).toMatchObject({ status: 'Running', externalId: world.uid })
    await node.isRemoved()
  })

  test('with the out-of-service taint has its server replaced', async () => {
    const node = await aNode()
    const world = await anActiveWorld({}, node.name)
    await node.isOutOfSight()
    await world.shows('Ready', 'Unknown/NodeUnreachable')
    await node.isOutOfService()
    await world.anotherPod(world.uid)
    const seen = await world.shows('Degraded', 'True/NodeLost')
    expect(seen.status?.run).toMatchObject({ restarts: 0, disruptions: 1 })
    await node.isRemoved()
  })

  test('is replaced after a timeout only if one is configured', async () => {
    await operator.stop()
    operator = await startOperator({ ORRERY_NODE_LOST_FORCE_MS: '2000' })
    const node = await aNode()
    const world = await anActiveWorld({}, node.name)
    await node.isOutOfSight()
    await world.anotherPod(world.uid)
    await node.isRemoved()
    await operator.stop()
    operator = await startOperator({ ORRERY_STOP_GRACE_SECONDS: '1' })
  })
})

describe('a server that does not go', () => {
  test('is reported with the finalizer that holds it, and the world ends once it is gone', async () => {
    const world = await anActiveWorld()
    await world.pod.isHeldBy('example.com/backup')
    change(world.namespace, { spec: { state: 'Stopped' } })
    const seen = await world.shows('Degraded', 'True/TerminationStuck')
    expect(seen.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopping' } })
    expect(seen.status?.message).toContain('finalizer example.com/backup blocks the deletion of its pod')
    await world.pod.isHeldBy(null)
    const ended = await world.shows('Degraded', 'False/AsExpected')
    expect(ended.status?.deployment?.status).toBe('Stopped')
  })
})

describe('the network of a world', () => {
  test('of the strategy ClusterIP is a service with its address, which is deleted with the run', async () => {
    const world = await anActiveWorld({ networking: { strategy: 'ClusterIP' } })
    const service = await world.service.exists()
    const seen = await world.shows('Ready', 'True/ServerReady')
    expect(seen.status?.address).toEqual({ host: service.spec?.clusterIP, port: 7777 })
    expect(service.spec?.ports?.map(({ protocol }) => protocol)).toEqual(['TCP', 'UDP'])
    change(world.namespace, { spec: { state: 'Stopped' } })
    await world.service.isGone()
  })

  test('of the strategy NodePort is one port of the server’s node for TCP and UDP', async () => {
    const name = `node-${randomBytes(4).toString('hex')}`
    await cluster.node(name).joins()
    const world = await anActiveWorld({ networking: { strategy: 'NodePort' } }, name)
    const service = await world.service.exists()
    const [tcp, udp] = service.spec?.ports ?? []
    expect(tcp?.nodePort).toBe(udp?.nodePort)
    const seen = await world.shows('Ready', 'True/ServerReady')
    expect(seen.status?.address).toEqual({ host: '192.168.7.1', port: tcp?.nodePort })
    await cluster.node(name).isRemoved()
  })

  test('of the strategy LoadBalancer is waited for, and changes with the next run', async () => {
    const world = aWorld({ networking: { strategy: 'LoadBalancer' } })
    await world.pod.exists()
    await world.pod.becomesReady()
    const waiting = await world.shows('Ready', 'False/LoadBalancerPending')
    expect(waiting.status).toMatchObject({
      phase: 'Starting',
      message: 'Waiting for the load balancer to get an address.',
    })
    await world.service.getsAddress('198.51.100.9')
    const seen = await world.shows('Ready', 'True/ServerReady')
    expect(seen.status?.address).toEqual({ host: '198.51.100.9', port: 7777 })

    change(world.namespace, { spec: { networking: { strategy: 'Default' } } })
    change(world.namespace, { spec: { state: 'Stopped' } })
    await world.service.isGone()
    change(world.namespace, { spec: { state: 'Running' } })
    await world.pod.exists()
    await world.pod.becomesReady({ ip: '10.0.0.44' })
    await eventually('the address of the pod', async () => {
      const address = (await world.resource.find())?.status?.address
      return address?.host === '10.0.0.44' && address.port === 7777
    })
    expect(await world.service.find()).toBeUndefined()
  })
})

describe('time', () => {
  // A run begins with a long duration and gets the short one later, so that a slow machine does not end it early.
  const endsIn = (world: { namespace: string }, minutes: number): void =>
    change(world.namespace, { spec: { durationMinutes: minutes } })

  test('ends a run after its duration, also after an operator restart, and deletes a transient world', async () => {
    const world = await anActiveWorld({ transient: true, durationMinutes: 60 })
    const startedAt = Date.parse((await world.resource.find())?.status?.startedAt ?? '')
    await operator.stop()
    operator = await startOperator({ ORRERY_STOP_GRACE_SECONDS: '1' })
    expect((await world.resource.find())?.status?.phase).toBe('Active')
    const durationMs = Date.now() - startedAt + 3_000
    endsIn(world, durationMs / 60_000)
    await world.resource.isGone()
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(durationMs)
    await world.pod.isGone()
  })

  test('keeps a transient world that was stopped until its duration is over', async () => {
    const world = await anActiveWorld({ transient: true, durationMinutes: 60 })
    const startedAt = Date.parse((await world.resource.find())?.status?.startedAt ?? '')
    change(world.namespace, { spec: { state: 'Stopped' } })
    await world.pod.isGone()
    expect(await world.resource.find()).toBeDefined()
    const durationMs = Date.now() - startedAt + 3_000
    endsIn(world, durationMs / 60_000)
    await world.resource.isGone()
    expect(Date.now() - startedAt).toBeGreaterThanOrEqual(durationMs)
  })

  test('deletes a transient world that was started and stopped while no operator ran', async () => {
    await operator.stop()
    const run = { runId: `run-${'0'.repeat(25)}1`, startedAt: new Date().toISOString() }
    const world = aWorld({ state: 'Stopped', transient: true, durationMinutes: 60, ...run })
    operator = await startOperator({ ORRERY_STOP_GRACE_SECONDS: '1' })
    const seen = await eventually('the run is recorded', async () => (await world.resource.find())?.status?.run)
    expect(seen).toMatchObject({ id: run.runId, endReason: 'Stopped' })
    endsIn(world, 0.01)
    await world.resource.isGone()
  })
})

test('a paused world is not changed, reports it, and resumes without the annotation', async () => {
  const world = await anActiveWorld()
  change(world.namespace, { metadata: { annotations: { 'orrery.dev/paused': 'true' } } })
  await world.shows('Progressing', 'False/Paused')
  change(world.namespace, { spec: { state: 'Stopped' } })
  await world.pod.exits(1)
  await eventually('the operator has looked', async () => (await world.pod.find())?.status?.phase === 'Failed')
  const seen = await world.shows('Progressing', 'False/Paused')
  expect(seen.status).toMatchObject({ phase: 'Active', message: expect.stringContaining('orrery.dev/paused') })
  expect((await world.pod.find())?.metadata).toMatchObject({ uid: world.uid })
  expect((await world.pod.find())?.metadata.deletionTimestamp).toBeUndefined()
  change(world.namespace, { metadata: { annotations: { 'orrery.dev/paused': null } } })
  await world.pod.isGone()
  await world.shows('Ready', 'False/Stopped')
})

describe('the ConfigMap of the scaling profiles', () => {
  const settings = { ORRERY_SCALING_PROFILES: 'default/orrery-scaling-profiles' }
  const profiles = (data: Record<string, string>): void =>
    apply({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'orrery-scaling-profiles', namespace: 'default' },
      data,
    })
  const fault = async (): Promise<string> => {
    try {
      await (await startOperator(settings)).stop()
    } catch (error) {
      return String(error)
    }
    throw new Error('the operator started')
  }

  test('is read at start, applies to the next run, and stops the operator if it is invalid', async () => {
    expect(await fault()).toContain('default/orrery-scaling-profiles of ORRERY_SCALING_PROFILES does not exist')
    profiles({ Huge: 'memoryLimit: 1Gi', Capacity30: 'memoryLimit: much' })
    const said = await fault()
    expect(said).toContain('Huge: is not a scaling profile')
    expect(said).toContain('Capacity30.memoryLimit: must be a string such as')

    const world = await anActiveWorld()
    profiles({ Capacity30: 'memoryLimit: 640Mi' })
    await operator.stop()
    operator = await startOperator({ ...settings, ORRERY_STOP_GRACE_SECONDS: '1' })
    const limitOf = async (): Promise<string | undefined> =>
      (await world.pod.exists()).spec?.containers?.[0]?.resources?.limits?.memory
    await world.pod.isEvicted('for the test')
    await world.anotherPod(world.uid)
    expect(await limitOf()).toBe('4Gi')
    change(world.namespace, { spec: { state: 'Stopped' } })
    await world.pod.isGone()
    change(world.namespace, { spec: { state: 'Running' } })
    expect(await limitOf()).toBe('640Mi')
  })
})

test('places servers by group, region and priority of the configuration', async () => {
  cluster.kubectl('create', 'priorityclass', 'worlds', '--value=1000')
  await operator.stop()
  operator = await startOperator({
    ORRERY_PLACEMENT: JSON.stringify([
      {
        group: 'staging',
        region: 'AsiaPacific',
        nodeLabels: { pool: 'far' },
        tolerations: [{ key: 'worlds', operator: 'Exists', effect: 'NoSchedule' }],
        priorityClassName: 'worlds',
      },
    ]),
  })
  const world = aWorld({ compute: { group: 'staging', region: 'AsiaPacific' } })
  await world.pod.exists()
  const spec = JSON.parse(cluster.kubectl('-n', world.namespace, 'get', 'pod', 'w', '-o', 'json')).spec
  expect(spec).toMatchObject({ nodeSelector: { pool: 'far' }, priorityClassName: 'worlds', priority: 1000 })
  expect(spec.tolerations).toContainEqual({ key: 'worlds', operator: 'Exists', effect: 'NoSchedule' })
})
