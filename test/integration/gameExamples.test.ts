import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { healthPort } from '#shared/domain/ports.ts'
import { validWorldSpec, type World } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'

const file = 'examples/games/worlds.yaml'
const examples = parseAllDocuments(readFileSync(file, 'utf8')).map((each) => each.toJS() as World)
const names = examples.map(({ metadata }) => metadata.name)

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let namespace: string

beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
  const tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  // The first world of a tenant makes its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

test('the API server accepts the examples of games', () => {
  const said = cluster.kubectl('-n', namespace, 'apply', '--dry-run=server', '-f', file)
  expect(said.match(/^world\S+ created \(server dry run\)$/gm)).toHaveLength(names.length)
  expect(names).toEqual(['minecraft', 'valheim', 'cs2'])
})

test('the examples of games start in the namespace of an organization, with pods that open their ports and have no probes', async () => {
  cluster.kubectl('-n', namespace, 'apply', '-f', file)
  for (const { metadata, spec } of examples) {
    const { runtime, networking } = validWorldSpec.parse(spec)
    await cluster.pod(namespace, metadata.name).exists()
    const read = ['-n', namespace, 'get', 'pod', metadata.name, '-o', 'jsonpath={.spec.containers[0]}']
    const container = JSON.parse(cluster.kubectl(...read))
    expect(container).toMatchObject({ image: runtime.image, args: runtime.args })
    expect(Object.keys(container).filter((field) => field.endsWith('Probe'))).toEqual([])
    const open: { containerPort: number; protocol: string }[] = container.ports
    expect(open.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`)).toEqual([
      ...networking.ports.map(({ containerPort, protocol }) => `${containerPort}/${protocol}`),
      `${healthPort}/TCP`,
    ])
  }
})
