import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '#shared/kube/client.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, groupVersion } from '#shared/resources/group.ts'
import type { WorldSpecInput } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

// The operator alone, in a namespace of Worlds without an API. Its caches hold only objects with the product's labels.

const cluster = aCluster()
const bots = createClient<BotDeployment>(cluster.transport, botDeploymentResource)
const namespace = 'hidden-objects'
let proxy: Awaited<ReturnType<typeof createFaultProxy>>
let operator: Awaited<ReturnType<typeof startOperator>>

const anOperator = () => startOperator({ KUBECONFIG: proxy.kubeconfig, ORRERY_STOP_GRACE_SECONDS: '1' })

beforeAll(async () => {
  cluster.kubectl('create', 'namespace', namespace)
  cluster.allowOperator(namespace)
  await cluster.node('node-of-hidden').joins()
  proxy = await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig })
  operator = await anOperator()
})
afterAll(async () => {
  await operator?.stop()
  await proxy?.remove()
  cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
  await cluster.node('node-of-hidden').isRemoved()
  await cluster.close()
})

const apply = (name: string, state: 'Running' | 'Stopped') => {
  const spec: WorldSpecInput = { state, networking: { strategy: 'NodePort' } }
  const world = { apiVersion: groupVersion, kind: 'World', metadata: { name, namespace }, spec }
  return cluster.worlds.apply(world, { fieldManager: 'test', force: true })
}

const shows = (name: string, what: string) =>
  eventually(`${name} shows ${what}`, async () => {
    const { status } = await cluster.worlds.get({ namespace, name })
    const degraded = status?.conditions?.find(({ type }) => type === 'Degraded')
    return [status?.phase, status?.deployment?.status, degraded?.reason].includes(what) && status
  })

const anActiveWorld = async (name: string) => {
  await apply(name, 'Running')
  const pod = cluster.pod(namespace, name)
  await pod.exists()
  await pod.isPutOn('node-of-hidden')
  await pod.becomesReady()
  await shows(name, 'Active')
  return { pod, service: cluster.service(namespace, name) }
}

const unlabel = (kind: 'pod' | 'service', name: string, ...keys: string[]) =>
  cluster.kubectl('-n', namespace, 'label', kind, name, ...keys.map((key) => `${key}-`))

/** Returns the reads of objects in the namespace since the last call, oldest first. */
const takeReads = (): string[] => {
  const taken = proxy.reads().slice(readsSeen)
  readsSeen += taken.length
  return taken.filter((read) => read.includes(` ${namespace} `) && /^(get|list) (pods|services) /.test(read))
}
let readsSeen = 0

/** Removes the pod as the kubelet does once it is marked for deletion. */
const ends = async (name: string) => {
  const pod = cluster.pod(namespace, name)
  await eventually(`the pod ${name} is deleted`, async () => {
    const found = await pod.find()
    return found === undefined || found.metadata.deletionTimestamp !== undefined
  })
  if ((await pod.find()) !== undefined) await pod.hasStopped()
  await pod.isGone()
}

test('a start reads neither pod nor Service, the end of a run reads each once, and a stopped world costs no read', async () => {
  takeReads()
  await anActiveWorld('counted')
  expect(takeReads()).toEqual([])
  await apply('counted', 'Stopped')
  await ends('counted')
  await shows('counted', 'Stopped')
  await eventually(
    'the end is on record',
    async () => (await shows('counted', 'Stopped')).deployment?.status === 'Stopped',
  )
  expect(takeReads().sort()).toEqual([`get pods ${namespace} counted`, `get services ${namespace} counted`])
  cluster.kubectl('-n', namespace, 'annotate', 'world', 'counted', 'a-change=1')
  await operator.stop()
  operator = await anOperator()
  await anActiveWorld('counted-too')
  expect(takeReads()).toEqual([])
  await apply('counted-too', 'Stopped')
  await ends('counted-too')
})

test('labels that others remove are put back, while the world stays Active with its pod and its ports', async () => {
  const { pod, service } = await anActiveWorld('relabelled')
  const [podBefore, serviceBefore] = [await pod.exists(), await service.exists()]
  const restored = (before: typeof podBefore | typeof serviceBefore, find: () => Promise<typeof before | undefined>) =>
    eventually('the labels are back', async () => {
      const live = await find()
      const keys = ['orrery.dev/world', 'orrery.dev/run', 'app.kubernetes.io/component']
      return keys.every((key) => live?.metadata.labels?.[key] === before.metadata.labels?.[key]) && live
    })
  unlabel('pod', 'relabelled', 'orrery.dev/world')
  expect((await restored(podBefore, pod.find)).metadata.uid).toBe(podBefore.metadata.uid)
  unlabel('pod', 'relabelled', 'orrery.dev/run', 'app.kubernetes.io/component')
  expect((await restored(podBefore, pod.find)).metadata.uid).toBe(podBefore.metadata.uid)
  cluster.kubectl('-n', namespace, 'label', 'pod', 'relabelled', 'orrery.dev/bot-deployment=bots')
  await eventually(
    'the label of bots is gone',
    async () => (await pod.find())?.metadata.labels?.['orrery.dev/bot-deployment'] === undefined,
  )
  unlabel('service', 'relabelled', 'orrery.dev/world')
  const { metadata, spec } = await restored(serviceBefore, service.find)
  expect([metadata.uid, spec]).toEqual([serviceBefore.metadata.uid, serviceBefore.spec])
  unlabel('service', 'relabelled', 'orrery.dev/run')
  expect((await restored(serviceBefore, service.find)).metadata.uid).toBe(serviceBefore.metadata.uid)
  await shows('relabelled', 'Active')
  await apply('relabelled', 'Stopped')
  await ends('relabelled')
  await service.isGone()
})

test('what lost its labels while no operator ran does not outlive the stop', async () => {
  const { service } = await anActiveWorld('hidden')
  await operator.stop()
  unlabel('pod', 'hidden', 'orrery.dev/world', 'orrery.dev/run')
  unlabel('service', 'hidden', 'orrery.dev/world', 'orrery.dev/run')
  await apply('hidden', 'Stopped')
  operator = await anOperator()
  await shows('hidden', 'Stopping')
  await ends('hidden')
  await service.isGone()
  await eventually(
    'the end is on record',
    async () => (await shows('hidden', 'Stopped')).deployment?.status === 'Stopped',
  )
})

test('bots that lose their labels get them back, and do not outlive count 0', async () => {
  await anActiveWorld('with-bots')
  const metadata = { namespace, name: 'bots-of-hidden' }
  await bots.create({
    apiVersion: groupVersion,
    kind: 'BotDeployment',
    metadata,
    spec: { worldName: 'with-bots', count: 2 },
  })
  const those = cluster.bots(namespace, metadata.name)
  await those.are([0, 1])
  const { uid } = (await those.pod(1).exists()).metadata
  unlabel('pod', 'bots-of-hidden-1', 'orrery.dev/bot-deployment')
  await those.are([0, 1])
  expect((await those.pod(1).exists()).metadata.uid).toBe(uid)
  await eventually('the status counts both', async () => (await bots.get(metadata)).status?.replicas === 2)
  await operator.stop()
  unlabel('pod', 'bots-of-hidden-0', 'orrery.dev/bot-deployment')
  cluster.kubectl('-n', namespace, 'label', 'pod', 'bots-of-hidden-1', '--overwrite', 'orrery.dev/bot-deployment=other')
  await bots.patch(metadata, { spec: { count: 0 } })
  takeReads()
  operator = await anOperator()
  for (const index of [0, 1]) await those.pod(index).isGone()
  await eventually('no bot is left', async () => (await bots.get(metadata)).status?.replicas === 0)
  // Those that were found, and the end of what was found.
  expect(takeReads()).toEqual(Array(2).fill(`list pods ${namespace} `))
  await bots.patch(metadata, { spec: { count: 1 } })
  await those.are([0])
  await eventually('the status counts it', async () => (await bots.get(metadata)).status?.replicas === 1)
  expect(takeReads()).toEqual([])
  await bots.patch(metadata, { spec: { count: 0 } })
  await eventually('no bot is left again', async () => (await bots.get(metadata)).status?.replicas === 0)
  expect(takeReads()).toEqual([`list pods ${namespace} `])
  await bots.delete(metadata)
  await apply('with-bots', 'Stopped')
  await ends('with-bots')
})

test('a pod that was taken from the world is named in its status at the stop, and stays', async () => {
  const { pod } = await anActiveWorld('taken')
  await operator.stop()
  unlabel('pod', 'taken', 'orrery.dev/world')
  await cluster.pods.patch({ namespace, name: 'taken' }, { metadata: { ownerReferences: null } })
  await apply('taken', 'Stopped')
  operator = await anOperator()
  const { message } = await shows('taken', 'PodNameTaken')
  expect(message).toContain('Pod taken belongs to another owner.')
  expect((await pod.exists()).metadata.deletionTimestamp).toBeUndefined()
  await pod.hasStopped()
})
