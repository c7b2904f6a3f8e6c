import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { aCluster } from '#test/support/cluster.ts'
import { logLines, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const namespace = `observed-${Date.now()}`
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  const credentials = loadCredentials({ KUBECONFIG: getServers().adminKubeconfig })
  const transport = createTransport({ credentials, userAgent: 'orrery-tests' })
  const namespaces = createClient(transport, { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' })
  await namespaces.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
  cluster.allowOperator(namespace)
  await transport.close()
  operator = await startOperator()
})
afterAll(async () => {
  await operator?.stop()
  await cluster.close()
})

const aWorld = async (name: string, annotations: Record<string, string> = {}) => {
  const apply = (state: 'Running' | 'Stopped') =>
    cluster.worlds.apply(
      {
        apiVersion: 'orrery.dev/v1alpha1',
        kind: 'World',
        metadata: { name, namespace, annotations },
        spec: { displayName: 'Lobby', state },
      },
      { fieldManager: 'kubectl', force: true },
    )
  await apply('Running')
  return {
    name,
    stop: () => apply('Stopped'),
    pod: cluster.pod(namespace, name),
    phase: (phase: string) =>
      eventually(`phase ${phase}`, async () => (await cluster.worlds.get({ namespace, name })).status?.phase === phase),
    /** Returns its events from `kubectl get events` as `type reason`, oldest first. */
    events: () =>
      cluster
        .kubectl(
          ...['get', 'events.events.k8s.io', '-n', namespace, '--sort-by=.eventTime'],
          ...['-o', 'jsonpath={range .items[*]}{.regarding.name} {.type} {.reason}{"\\n"}{end}'],
        )
        .split('\n')
        .filter((line) => line.startsWith(`${name} `))
        .map((line) => line.slice(name.length + 1)),
    lines: () => logLines(operator.logFile).filter(({ world }) => world === `${namespace}/${name}`),
  }
}

test("kubectl shows each event of a world's life once", async () => {
  const world = await aWorld('events')
  await world.pod.exists()
  await world.pod.becomesReady()
  await world.phase('Active')
  await world.pod.exits(3)
  await eventually('the failure', async () => world.events().includes('Warning Restarted'))
  await world.stop()
  await world.phase('Stopped')
  const seen = await eventually('the end', async () => world.events().includes('Normal Stopped') && world.events())
  expect(seen).toEqual(['Normal Started', 'Normal Ready', 'Warning Restarted', 'Normal Stopped'])
})

test('logs one line for each reconcile with steps, changes and reasons', async () => {
  const world = await aWorld('logged')
  await world.pod.exists()
  await world.pod.becomesReady()
  await world.phase('Active')
  const lines = await eventually('three lines', async () => world.lines().length >= 3 && world.lines())
  expect(lines).toMatchObject([
    { steps: [], phase: 'Starting', why: 'Starting', changed: expect.arrayContaining(['phase', 'run']) },
    { steps: ['createPod'], phase: 'Starting' },
    { steps: [], phase: 'Active', why: 'ServerReady', changed: expect.arrayContaining(['phase', 'run.readyAt']) },
  ])
})

test('a paused world is not changed and resumes without the annotation', async () => {
  const paused = await aWorld('paused', { 'orrery.dev/paused': 'true' })
  // A World that is applied later is reconciled later, so the paused one has had its turn once this one has a pod.
  await (await aWorld('other')).pod.exists()
  expect(await paused.pod.find()).toBeUndefined()
  const { status } = await cluster.worlds.get({ namespace, name: paused.name })
  expect(status).toMatchObject({ message: expect.stringMatching(/^Paused/) })
  expect(status?.run).toBeUndefined()
  cluster.kubectl('-n', namespace, 'annotate', 'world', paused.name, 'orrery.dev/paused-')
  await paused.pod.exists()
})
