import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '#operator/pods/service.ts'
import { apiGroup } from '#shared/resources/group.ts'
import { botSelectorOf, cacheSelectors } from '#shared/resources/selectors.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Labels = Record<string, string>
type Policy = { metadata: { name: string }; spec: { podSelector: { matchLabels?: Labels } } }

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Awaited<ReturnType<typeof aTenant>>
let namespace: string
let first: Awaited<ReturnType<typeof aWorldWithBots>>
let second: Awaited<ReturnType<typeof aWorldWithBots>>

beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  first = await aWorldWithBots('ClusterIP')
  second = await aWorldWithBots('NodePort')
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

/** Starts a world with a Service and two bots, all with Ready pods. */
const aWorldWithBots = async (strategy: string) => {
  const node = `node-of-${strategy.toLowerCase()}`
  await cluster.node(node).joins()
  const id = await tenant.world({ networking: { strategy, scaling: { profile: 'Capacity10' } } })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  const pod = cluster.pod(namespace, id)
  await pod.exists()
  await pod.isPutOn(node)
  await pod.becomesReady()
  await tenant.rest.call('POST', `/api/worlds/${id}/bots/`, { count: 2 })
  const [{ documentId: deployment } = { documentId: '' }] = (
    await tenant.rest.call<{ documentId: string }[]>('GET', `/api/worlds/${id}/bots/`)
  ).body
  const bots = cluster.bots(namespace, deployment)
  await bots.are([0, 1])
  await bots.becomeReady()
  return { id, deployment, bots: [`${deployment}-0`, `${deployment}-1`] }
}

const select = async (labelSelector: string): Promise<string[]> =>
  (await cluster.pods.list({ namespace, labelSelector })).items.map(({ metadata }) => metadata.name).sort()
const textOf = (labels: Labels = {}): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join()
const read = <T>(kind: string): T[] =>
  (JSON.parse(cluster.kubectl('get', kind, '-n', namespace, '-o', 'json')) as { items: T[] }).items

test('each selector of the product selects the pods of its kind, and no others', async () => {
  const servers = [first.id, second.id].sort()
  const bots = [...first.bots, ...second.bots].sort()
  const everyPod = [...servers, ...bots].sort()
  expect(await select('')).toEqual(everyPod)

  const selectors: Record<string, string> = {
    'cache of servers': cacheSelectors.servers,
    'cache of bots': cacheSelectors.bots,
    'bots of the first world': botSelectorOf(first.deployment),
  }
  for (const { metadata, spec } of read<Service>('services')) {
    selectors[`service ${metadata.name}`] = textOf(spec?.selector)
  }
  for (const { metadata, spec } of read<Policy>('networkpolicies')) {
    selectors[`policy ${metadata.name}`] = textOf(spec.podSelector.matchLabels)
  }
  const selected = await Promise.all(
    Object.entries(selectors).map(async ([name, selector]) => [name, await select(selector)] as const),
  )
  expect(Object.fromEntries(selected)).toEqual({
    'cache of servers': servers,
    'cache of bots': bots,
    'bots of the first world': first.bots,
    [`service ${first.id}`]: [first.id],
    [`service ${second.id}`]: [second.id],
    'policy default-deny': everyPod,
    'policy names-and-api': everyPod,
    'policy worlds': servers,
    'policy bots': bots,
  })
})

test('a Service whose selector others changed is repaired, and keeps its address', async () => {
  const service = cluster.service(namespace, second.id)
  const { metadata, spec } = await service.exists()
  // Without the label of the component, the Service would select the bots too.
  const broad = { [`${apiGroup}/world`]: second.id }
  const patch = JSON.stringify([{ op: 'replace', path: '/spec/selector', value: broad }])
  cluster.kubectl('patch', 'service', second.id, '-n', namespace, '--type=json', '-p', patch)
  await eventually('the selector is repaired', async () => {
    const live = await service.find()
    return isDeepStrictEqual(live?.spec?.selector, spec?.selector)
  })
  const repaired = await service.find()
  expect(repaired?.metadata.uid).toBe(metadata.uid)
  expect(repaired?.spec).toEqual(spec)
})
