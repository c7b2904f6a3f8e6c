import { afterAll, afterEach, expect, test } from 'vitest'
import { createClient } from '#shared/kube/client.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { definitionName, definitionResource } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess | undefined
const install = () => cluster.kubectl('apply', '--server-side', '--force-conflicts', '-f', 'crds')
afterEach(async () => {
  install()
  await api?.stop()
})
afterAll(() => cluster.close())

type Rule = { readonly rule: string }
type SpecSchema = {
  properties: { networking: { properties: Record<string, object> } }
  'x-kubernetes-validations': readonly Rule[]
}
type Definition = KubeObject & {
  spec: { versions: { schema: { openAPIV3Schema: { properties: { spec: SpecSchema } } } }[] }
}

/** Replaces the definition of Worlds by one whose networking has no ports, as an older version could have it. */
const installWithoutPorts = async (): Promise<void> => {
  const definitions = createClient<Definition>(cluster.transport, definitionResource)
  const definition = await definitions.get({ name: definitionName('world') })
  for (const { schema } of definition.spec.versions) {
    const { spec } = schema.openAPIV3Schema.properties
    delete spec.properties.networking.properties.ports
    const hasNoPorts = ({ rule }: Rule): boolean => !rule.includes('ports')
    spec['x-kubernetes-validations'] = spec['x-kubernetes-validations'].filter(hasNoPorts)
  }
  await definitions.replace(definition)
}

type Networked = WorldBody & { readonly name: string; readonly networking: { readonly ports: readonly object[] } }

test('a field that the definition lacks keeps its value in the row, and reaches the resource once the definition has it', async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  const { rest, scope, ...tenant } = await aTenant(api.url)
  const namespace = `orrery-${scope.organizationId}`
  const ports = [{ name: 'game', containerPort: 9000, protocol: 'UDP', expose: 'Public' }]
  const metadata = { annotations: { season: 'one' }, labels: {} }
  const id = await tenant.world({ networking: { ports }, metadata })
  const path = `/api/worlds/${id}/`
  await cluster.world(namespace, id).exists()
  const live = () => cluster.worlds.get({ namespace, name: id })
  const shown = async () => (await rest.call<Networked>('GET', path)).body
  const edit = (displayName: string) =>
    cluster.worlds.patch({ namespace, name: id }, { spec: { displayName } }, { fieldManager: 'kubectl-edit' })
  const synced = (status: string) =>
    eventually(`Synced is ${status}`, async () =>
      (await live()).status?.conditions?.find((each) => each.type === 'Synced' && each.status === status),
    )

  await installWithoutPorts()
  await eventually('the definition is in force', async () => (await live()).spec.networking.ports === undefined)
  await edit('Hall')
  await eventually('the adopted edit', async () => (await shown()).name === 'Hall')
  expect((await shown()).networking.ports).toEqual(ports)

  const { revision } = (await live()).spec
  await rest.call('PATCH', path, { metadata: { annotations: {}, labels: { team: 'events' } } })
  expect(await synced('False')).toMatchObject({
    reason: 'PushRefused',
    message: expect.stringContaining('older than the API'),
  })
  // A part of a revision would look like an edit.
  expect((await live()).spec).toMatchObject({ revision, metadata: { annotations: { season: 'one' } } })
  await edit('Garden')
  await eventually('the second edit', async () => (await shown()).name === 'Garden')

  install()
  await eventually('the push', async () => (await live()).spec.metadata.labels.team === 'events')
  await synced('True')
  const { networking, displayName } = (await live()).spec
  expect({ ports: networking.ports, displayName }).toEqual({ ports, displayName: 'Garden' })
  expect((await shown()).networking.ports).toEqual(ports)
  expect((await shown()).name).toBe('Garden')
})
