import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

const group = 'admissionregistration.k8s.io/v1'
const policies = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'] as const
const words = 'denied-by-policy.internal.example'

/** Makes the cluster refuse updates of the resources in the namespace of an organization. Returns a function that ends it. */
const refuseUpdates = async (organizationId: string) => {
  const name = `refused-${organizationId}`
  const operations = ['UPDATE']
  const rule = { apiGroups: ['orrery.dev'], apiVersions: ['*'], resources: ['worlds', 'botdeployments'], operations }
  const namespaceSelector = { matchLabels: { 'orrery.dev/organization': organizationId } }
  const specs = [
    { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: 'false', message: words }] },
    { policyName: name, validationActions: ['Deny'], matchResources: { namespaceSelector } },
  ]
  for (const [at, kind] of ['ValidatingAdmissionPolicy', 'ValidatingAdmissionPolicyBinding'].entries()) {
    const body = { apiVersion: group, kind, metadata: { name }, spec: specs[at] }
    await cluster.transport.request({ method: 'POST', path: `/apis/${group}/${policies[at]}`, body })
  }
  return async () => {
    for (const plural of policies)
      await cluster.transport.request({ method: 'DELETE', path: `/apis/${group}/${plural}/${name}` })
  }
}

test.each(['world', 'botdeployment'] as const)(
  'the condition Synced of a %s is False while the cluster refuses its pushes, and True once one is accepted',
  async (kind) => {
    const { rest, scope, ...tenant } = await aTenant(api.url)
    const namespace = `orrery-${scope.organizationId}`
    const worldId = await tenant.world()
    await cluster.world(namespace, worldId).exists()
    const botsPath = `/api/worlds/${worldId}/bots/`
    const bots = (await rest.call('POST', botsPath, { count: 1 })).headers.get('location')?.split('/').at(-2) ?? ''
    await cluster.botDeployment(namespace, bots).exists()
    const name = kind === 'world' ? worldId : bots
    const read = () => JSON.parse(cluster.kubectl('-n', namespace, 'get', kind, name, '-o', 'json'))
    const synced = (status: string) =>
      eventually(`Synced is ${status}`, async () => {
        const conditions: Record<string, string>[] = read().status?.conditions ?? []
        return conditions.find((each) => each.type === 'Synced' && each.status === status)
      })
    const allow = await refuseUpdates(scope.organizationId)
    await eventually('the policy is in force', async () => {
      try {
        cluster.kubectl('-n', namespace, 'annotate', kind, name, 'example.com/a=b', '--dry-run=server')
      } catch (error) {
        return String(error).includes(words)
      }
    })

    const changed = { metadata: { annotations: {}, labels: { team: 'events' } } }
    await (kind === 'world'
      ? rest.call('PATCH', `/api/worlds/${name}/`, changed)
      : rest.call('PATCH', `${botsPath}${name}/`, { count: 1, ...changed }))
    const condition = await synced('False')
    expect(condition.reason).toBe('PushRefused')
    expect(condition.message).toContain('a policy of the cluster refuses the resource')
    await eventually('the event', async () =>
      cluster
        .kubectl('-n', namespace, 'get', 'events', `--field-selector=involvedObject.name=${name},reason=PushRefused`)
        .includes('a policy of the cluster refuses the resource'),
    )
    expect(JSON.stringify(read())).not.toContain(words)

    await allow()
    await eventually('the push', async () => read().spec.metadata.labels.team === 'events')
    expect((await synced('True')).reason).toBe('Synced')
  },
)
