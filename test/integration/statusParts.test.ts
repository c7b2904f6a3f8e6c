import { afterAll, beforeAll, expect, test } from 'vitest'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { customResourceDefinitions } from '#shared/resources/crds.ts'
import { apiVersion, fieldManagers } from '#shared/resources/group.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

// The parts of a status are atomic. These tests use a copy of the definition of World, so that others keep theirs.
type Definition = KubeObject & {
  spec: { group: string; names: { plural: string; kind: string; shortNames?: string[]; categories?: string[] } }
}
type Copy = KubeObject & { status?: Record<string, unknown> }

const group = `status-${Date.now()}.example.test`
const transport = createTransport({
  credentials: loadCredentials({ KUBECONFIG: getServers().adminKubeconfig }),
  userAgent: 'status-tests',
})
const definitions = createClient<Definition>(transport, {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
})
const copies = createClient<Copy>(transport, { group, version: apiVersion, plural: 'worlds', kind: 'World' })
const ref = { namespace: 'default', name: 'copy' }

/** Returns the definition of World in another group, with or without the type of its maps. */
const definitionOf = (isAtomic: boolean): Definition => {
  const world = customResourceDefinitions()['orrery.dev_worlds.yaml'] as unknown as Definition
  const copy = {
    ...world,
    metadata: { name: `${world.spec.names.plural}.${group}` },
    spec: { ...world.spec, group, names: { ...world.spec.names, shortNames: [], categories: [] } },
  }
  const keep = (key: string, value: unknown) => (key === 'x-kubernetes-map-type' && !isAtomic ? undefined : value)
  return JSON.parse(JSON.stringify(copy, keep)) as Definition
}

const define = (isAtomic: boolean) => {
  const definition = definitionOf(isAtomic)
  expect(JSON.stringify(definition).includes('x-kubernetes-map-type')).toBe(isAtomic)
  return definitions.apply(definition, { fieldManager: 'status-tests', force: true })
}

const writeStatus = (status: object, manager: string = fieldManagers.operator) =>
  copies.applyStatus({ apiVersion: `${group}/${apiVersion}`, kind: 'World', metadata: ref, status } as Copy, {
    fieldManager: manager,
    force: true,
  })

const address = { host: '10.0.0.1', port: 7777 }
const queue = { queued: 1, active: 2 }
let players = queue.active

beforeAll(async () => {
  await define(false)
  const copy = { apiVersion: `${group}/${apiVersion}`, kind: 'World', metadata: ref, spec: { displayName: 'a copy' } }
  await eventually('the copy is created', async () => {
    try {
      return await copies.create(copy)
    } catch {
      return false
    }
  })
})

afterAll(async () => {
  await definitions.delete({ name: `worlds.${group}` })
  await transport.close()
})

test.each([
  ['an upgrade', true],
  ['a rollback', false],
])('an operator replaces the parts of a status that it wrote before %s', async (_, isAtomic) => {
  await writeStatus({ worldId: 'wld-of-the-api' }, fieldManagers.api)
  await writeStatus({ phase: 'Active', address, queue })
  await define(isAtomic)
  await eventually('the definition is used', async () => {
    players += 1
    await writeStatus({ phase: 'Active', address, queue: { ...queue, active: players } })
    const { metadata } = await copies.get(ref, { managedFields: true })
    const own = metadata.managedFields?.find(({ manager }) => manager === fieldManagers.operator)
    return JSON.stringify(own?.fieldsV1).includes('"f:host"') !== isAtomic
  })
  await writeStatus({ phase: 'Active', address: { host: '10.0.0.2', port: 7778 } })
  const { status } = await copies.get(ref)
  expect(status).toEqual({ phase: 'Active', address: { host: '10.0.0.2', port: 7778 }, worldId: 'wld-of-the-api' })
})
