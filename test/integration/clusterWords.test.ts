import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

/** The words of the cluster's administrator in every refusal, which name what tenants must not read. */
const marker = 'denied-by-webhook.internal.example'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  operator = await startOperator()
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

type Shown = { status: { message: string } }
const namespaceOf = ({ scope }: Tenant): string => `orrery-${scope.organizationId}`

/** Makes the cluster refuse changes of some kinds in the namespace of a tenant, and waits until it refuses `probe`. */
const refuse = async (tenant: Tenant, kinds: { apiGroups: string[]; resources: string[] }, probe: string[]) => {
  const { organizationId } = tenant.scope
  const resourceRules = [{ ...kinds, apiVersions: ['*'], operations: ['CREATE', 'UPDATE'] }]
  const apiVersion = 'admissionregistration.k8s.io/v1'
  const metadata = { name: `words-${organizationId}` }
  const policy = {
    failurePolicy: 'Fail',
    matchConstraints: { resourceRules },
    validations: [{ expression: 'false', message: marker }],
  }
  const namespaceSelector = { matchLabels: { 'orrery.dev/organization': organizationId } }
  const binding = { policyName: metadata.name, validationActions: ['Deny'], matchResources: { namespaceSelector } }
  for (const [plural, kind, spec] of [
    ['validatingadmissionpolicies', 'ValidatingAdmissionPolicy', policy],
    ['validatingadmissionpolicybindings', 'ValidatingAdmissionPolicyBinding', binding],
  ] as const) {
    const body = { apiVersion, kind, metadata, spec }
    await cluster.transport.request({ method: 'POST', path: `/apis/${apiVersion}/${plural}`, body })
  }
  await eventually('the policy is in force', async () => {
    try {
      cluster.kubectl('-n', namespaceOf(tenant), ...probe, '--dry-run=server')
      return false
    } catch (error) {
      return String(error).includes(marker)
    }
  })
}

/** Returns all that REST and the resources show to a tenant about a world and its bots. */
const everythingShown = async (tenant: Tenant, worldId: string): Promise<string> => {
  const { call } = tenant.rest
  const bots = await call<{ documentId: string }[]>('GET', `/api/worlds/${worldId}/bots/`)
  const paths = [
    ...['/api/worlds/', `/api/worlds/${worldId}/`, `/api/worlds/${worldId}/bots/`],
    ...[`/api/worlds/${worldId}/events/`, `/api/worlds/${worldId}/deployments/`],
    ...bots.body.map(({ documentId }) => `/api/worlds/${worldId}/bots/${documentId}/`),
    ...bots.body.map(({ documentId }) => `/api/worlds/${worldId}/bots/${documentId}/events/`),
  ]
  const shown: unknown[] = [cluster.kubectl('-n', namespaceOf(tenant), 'get', 'worlds,botdeployments', '-o', 'json')]
  for (const path of paths) {
    const { status, body } = await call('GET', path)
    expect([path, status]).toEqual([path, 200])
    shown.push(body)
  }
  return JSON.stringify(shown)
}

test('a refusal of the cluster reaches tenants in fixed words, and the log in those of the cluster', async () => {
  const [unsynced, unserved] = [await aTenant(api.url), await aTenant(api.url)]
  const [edited, started] = [await unsynced.world(), await unserved.world()]
  await cluster.world(namespaceOf(unsynced), edited).exists()
  await cluster.world(namespaceOf(unserved), started).exists()
  const annotate = ['annotate', 'world', edited, 'example.com/note=mine']
  await refuse(unsynced, { apiGroups: ['orrery.dev'], resources: ['worlds', 'botdeployments'] }, annotate)
  const probe = ['create', 'service', 'clusterip', 'probe', '--tcp=80']
  await refuse(unserved, { apiGroups: [''], resources: ['pods', 'services'] }, probe)
  await unsynced.rest.call('PATCH', `/api/worlds/${edited}/`, { description: 'Meet here' })
  await unsynced.rest.call('POST', `/api/worlds/${edited}/bots/`, { count: 1 })
  await unserved.rest.call('POST', `/api/worlds/${started}/bots/`, { count: 1 })
  await unserved.rest.call('POST', `/api/worlds/${started}/start/`)
  const says = (tenant: Tenant, path: string, words: string) =>
    eventually(words, async () => {
      const { body } = await tenant.rest.call<Shown | Shown[]>('GET', path)
      return [body].flat().some(({ status }) => status.message.includes(words))
    })
  const fixed = 'a policy of the cluster refuses the resource'
  await says(unsynced, `/api/worlds/${edited}/`, fixed)
  await says(unsynced, `/api/worlds/${edited}/bots/`, fixed)
  await says(unserved, `/api/worlds/${started}/`, 'A policy of the cluster refused the')
  expect(await everythingShown(unsynced, edited)).not.toContain(marker)
  expect(await everythingShown(unserved, started)).not.toContain(marker)
  for (const { logFile } of [api, operator]) expect(readFileSync(logFile, 'utf8')).toContain(marker)
})
