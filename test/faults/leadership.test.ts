import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import { type Lease, leaseResource } from '#shared/kube/lease.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy, effective } from '#test/support/faultProxy.ts'
import { logLines, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const transport = createTransport({
  credentials: loadCredentials({ KUBECONFIG: getServers().adminKubeconfig }),
  userAgent: 'orrery-tests',
})
const leases = createClient<Lease>(transport, leaseResource)
const namespaces = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
const namespace = `leadership-${Date.now()}`
const ref = { namespace: 'default', name: 'orrery-operator' }
const waitMs = { timeoutMs: 40_000 }
/** The duration of a lease that is not renewed. */
const leaseMs = 15_000

const undo: (() => Promise<void>)[] = []
beforeAll(async () => {
  await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  cluster.allowOperator(namespace)
})
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each()
  // A lease that a test leaves held would delay the next one.
  await leases.delete(ref).catch((error: unknown) => {
    if (!isNotFound(error)) throw error
  })
})
afterAll(async () => {
  await namespaces.delete({ name: namespace })
  await transport.close()
  await cluster.close()
})

/** Starts an operator with that identity behind its own proxy, which records its writes. */
const anOperator = async (identity: string) => {
  const proxy = await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig })
  const operator = await startOperator({ KUBECONFIG: proxy.kubeconfig, ORRERY_LEASE_IDENTITY: identity })
  undo.push(proxy.remove, () => operator.stop({ timeoutMs: 5_000 }))
  return {
    ...operator,
    writes: () => proxy.writes(),
    holdAnswers: proxy.holdAnswers,
    leads: () => logLines(operator.logFile).some(({ msg }) => msg === 'lease: acquired'),
    metrics: async () => (await fetch(`${operator.url}/metrics`)).text(),
  }
}

const holder = async (): Promise<string | undefined> => (await leases.get(ref)).spec?.holderIdentity

let count = 0
/** Applies a running World with kubectl. */
const startWorld = async (): Promise<string> => {
  count += 1
  const name = `wld-${String(count).padStart(26, '0')}`
  await cluster.worlds.apply(
    {
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'World',
      metadata: { name, namespace },
      spec: { displayName: 'Lobby', state: 'Running' },
    },
    { fieldManager: 'kubectl', force: true },
  )
  return name
}

const podOf = (name: string, limits = waitMs) =>
  eventually(`the pod of ${name}`, () => cluster.pod(namespace, name).find(), limits)

test('only one of two operators writes, and the other is ready', async () => {
  const first = await anOperator('first')
  await eventually('the first leads', async () => (await holder()) === 'first')
  const second = await anOperator('second')
  const name = await startWorld()
  await podOf(name)
  expect((await fetch(`${second.url}/readyz`)).status).toBe(200)
  expect((await fetch(`${second.url}/livez`)).status).toBe(200)
  expect(second.writes()).toEqual([])
  expect(await first.metrics()).toContain('leader_election_master_status{name="orrery-operator"} 1')
  const standby = await second.metrics()
  expect(standby).toContain('leader_election_master_status{name="orrery-operator"} 0')
  expect(standby).toMatch(/workqueue_depth\{name="world",controller="world"\} [1-9]/)
})

test('a standby takes over within 2 s of a stop and does the pending work once', async () => {
  const first = await anOperator('first')
  await eventually('the first leads', async () => (await holder()) === 'first')
  const second = await anOperator('second')
  first.signal('SIGTERM')
  const stoppedAtMs = performance.now()
  const name = await startWorld()
  await eventually('the second leads', async () => (await holder()) === 'second')
  const leadsMs = performance.now() - stoppedAtMs
  await podOf(name)
  process.stdout.write(`graceful failover: the lease after ${Math.round(leadsMs)} ms\n`)
  expect(leadsMs).toBeLessThanOrEqual(2_000)
  expect(await first.exited).toEqual({ code: 0, signal: null })
  // Either may have seen the World first: the stopping leader may finish its work while it holds the lease.
  const creations = (of: string) =>
    effective([...first.writes(), ...second.writes()]).filter(({ signature }) => signature === `create pods ${of} #1`)
  await eventually('one of them made it', async () => creations(name).length > 0)
  const later = await startWorld()
  await podOf(later)
  const wroteLater = (): boolean =>
    effective(second.writes()).some(({ signature }) => signature === `create pods ${later} #1`)
  await eventually('the second makes what comes later', async () => wroteLater())
  expect(creations(name)).toHaveLength(1)
})

test('a standby takes over within 17 s of a kill', async () => {
  const first = await anOperator('first')
  await eventually('the first leads', async () => (await holder()) === 'first')
  await anOperator('second')
  first.signal('SIGKILL')
  const killedAtMs = performance.now()
  const name = await startWorld()
  await eventually('the second leads', async () => (await holder()) === 'second', waitMs)
  const leadsMs = performance.now() - killedAtMs
  await podOf(name)
  process.stdout.write(`crash failover: the lease after ${Math.round(leadsMs)} ms\n`)
  expect(leadsMs).toBeLessThanOrEqual(17_000)
})

test('a leader that was suspended past its lease exits without further writes', async () => {
  const first = await anOperator('first')
  await podOf(await startWorld())
  const release = first.holdAnswers()
  const names = await Promise.all(Array.from({ length: 12 }, startWorld))
  const isRecorded = (name: string): boolean =>
    effective(first.writes()).some((write) => write.resource === 'worlds/status' && write.name === name)
  await eventually('each run is recorded', async () => names.every(isRecorded))
  first.signal('SIGSTOP')
  undo.push(async () => first.signal('SIGCONT'))
  // The responses wait in the sockets, so its first action after it resumes is to create the pods. No other process
  // takes the lease, so only its own knowledge of the lease can prevent that.
  release()
  await eventually(
    'the lease has run out',
    async () => Date.now() - Date.parse((await leases.get(ref)).spec?.renewTime ?? '') > leaseMs,
    waitMs,
  )
  // Everything that it had sent before the suspension has arrived.
  const before = first.writes().length
  first.signal('SIGCONT')
  expect(await first.exited).toEqual({ code: 1, signal: null })
  expect(first.writes().slice(before)).toEqual([])
  for (const name of names) expect(await cluster.pod(namespace, name).find()).toBeUndefined()
  expect((await leases.get(ref)).spec).toMatchObject({ holderIdentity: 'first', leaseTransitions: 0 })
})

test('a suspended leader that resumes writes nothing, and no world has two pods', async () => {
  const first = await anOperator('first')
  const early = await startWorld()
  const pod = await podOf(early)
  const second = await anOperator('second')
  first.signal('SIGSTOP')
  undo.push(async () => first.signal('SIGCONT'))
  const late = await startWorld()
  await podOf(late)
  expect(second.leads()).toBe(true)
  const before = first.writes().length
  first.signal('SIGCONT')
  const meanwhile = await startWorld()
  expect(await first.exited).toEqual({ code: 1, signal: null })
  await podOf(meanwhile)
  expect(first.writes().slice(before)).toEqual([])
  expect((await cluster.pods.get({ namespace, name: early })).metadata.uid).toBe(pod.metadata.uid)
})
