import { eq } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { createIdSource } from '#shared/ids.ts'
import { aCluster } from '#test/support/cluster.ts'
import { namespacePrefixes } from '#test/support/namespacePrefixes.ts'
import { type ApiProcess, aDatabase, runOrrery, startApi } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const { adminKubeconfig } = getServers()
let databaseUrl: string
let api: ApiProcess
let database: ReturnType<typeof openDatabase>
beforeAll(async () => {
  await cluster.removeLeftovers()
  // The policies of test clusters hold for several prefixes, and those of an installation for its own.
  await installManifests({ kubeconfig: adminKubeconfig })
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  database = openDatabase({ url: databaseUrl, poolSize: 2 })
})
afterAll(async () => {
  await api?.stop()
  await database?.close()
  await installManifests({ kubeconfig: adminKubeconfig, parameters: { namespacePrefix: namespacePrefixes } })
  await cluster.close()
})

/**
 * Runs `orrery doctor`, and returns its lines on the given namespaces and pods. Other test files leave namespaces and pods
 * in the cluster, and their organizations are in other databases.
 */
const doctor = (names: readonly string[], ...args: string[]) => {
  const { status, stdout, stderr } = runOrrery(['doctor', ...args], {
    ORRERY_DATABASE_URL: databaseUrl,
    ORRERY_PUBLIC_URL: api.url,
    ORRERY_PORT: new URL(api.url).port,
    KUBECONFIG: adminKubeconfig,
  })
  const lines = stdout
    .split('\n')
    .filter((line) => !/^(Namespace|Pod) /.test(line) || names.some((name) => line.includes(name)))
  return { status, stderr, lines: lines.filter((line) => line !== '').sort() }
}

test('orrery doctor explains each seeded difference, exits with 1, and fixes what is safe', async () => {
  const tenant = await aTenant(api.url)
  const namespace = `orrery-${tenant.scope.organizationId}`
  const names = ['edited', 'lost', 'orphan', 'frozen', 'never pushed', 'healthy']
  const [edited = '', lost = '', orphan = '', frozen = '', unpushed = ''] = await Promise.all(
    names.map((name) => tenant.world({ name })),
  )
  const isSettled = () =>
    eventually('no row is dirty', async () => (await database.db.select().from(clusterOutbox)).length === 0)
  await tenant.rest.call('PATCH', `/api/worlds/${frozen}/`, { name: 'Later' })
  await isSettled()
  expect(doctor([namespace]).lines.filter((line) => !line.startsWith('Rows, resources,'))).toEqual([])

  await api.stop()
  const { db } = database
  const change = (id: string, columns: Partial<typeof worlds.$inferInsert>) =>
    db.update(worlds).set(columns).where(eq(worlds.id, id))
  const lose = async (name: string): Promise<void> => {
    await cluster.worlds.patch({ namespace, name }, { metadata: { finalizers: null } })
    await cluster.worlds.delete({ namespace, name })
    await cluster.world(namespace, name).isGone()
  }
  await change(edited, { name: 'Changed in the database' })
  await lose(lost)
  await db.delete(launchContexts).where(eq(launchContexts.worldId, orphan))
  await db.delete(worlds).where(eq(worlds.id, orphan))
  await change(frozen, { revision: 1 })
  await lose(unpushed)
  await change(unpushed, { resourceUid: null, applied: null, appliedResourceVersion: null })
  cluster.kubectl('-n', namespace, 'delete', 'networkpolicy', 'default-deny')
  const changeKept = (kind: string, name: string, patch: object) =>
    cluster.kubectl('-n', namespace, 'patch', kind, name, '--type=merge', '-p', JSON.stringify(patch))
  changeKept('networkpolicy', 'names-and-api', { spec: { egress: [{}] } })
  changeKept('resourcequota', 'orrery', { spec: { hard: { 'count/worlds.orrery.dev': '7' } } })
  changeKept('limitrange', 'orrery', { spec: { limits: [{ type: 'Container', max: { cpu: '1' } }] } })
  changeKept('serviceaccount', 'orrery-pods', { automountServiceAccountToken: true })
  changeKept('rolebinding', 'orrery-operator-tenant', { subjects: [] })
  cluster.kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce-version=latest', '--overwrite')
  cluster.kubectl('annotate', 'namespace', namespace, 'orrery.dev/image-registries=evil.example', '--overwrite')
  const changeInstalled = (kind: string, name: string, patch: object) =>
    cluster.kubectl('patch', kind, name, '--type=merge', '-p', JSON.stringify(patch))
  changeInstalled('validatingadmissionpolicy', 'orrery-status', { spec: { failurePolicy: 'Ignore' } })
  cluster.kubectl('delete', 'validatingadmissionpolicybinding', 'orrery-deletion')
  changeInstalled('crd', 'worlds.orrery.dev', { spec: { names: { shortNames: ['w'] } } })
  const stray = `orrery-${createIdSource({ now: Date.now })('organization')}`
  cluster.kubectl('create', 'namespace', stray)
  cluster.kubectl('label', 'namespace', stray, 'app.kubernetes.io/managed-by=orrery-api')
  const pod = { containers: [{ name: 'server', image: 'registry.example/server:1' }] }
  await cluster.pods.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      namespace: 'default',
      name: 'left-behind',
      labels: { 'app.kubernetes.io/managed-by': 'orrery-operator', 'orrery.dev/world': 'gone' },
    },
    spec: pod,
  })

  const sick = doctor([namespace, stray, 'default/left-behind'], '--fix')
  expect(sick).toMatchObject({ status: 1, stderr: expect.stringContaining('differences found.') })
  const install = 'Install the manifests of this version again: upgrade the chart, or apply its files.'
  expect(sick.lines).toEqual(
    [
      'Rows and organizations marked to be pushed again: 3.',
      ...[
        'NetworkPolicy default-deny is missing.',
        'NetworkPolicy names-and-api has other rules than the API applies.',
        'ResourceQuota orrery has other values than the limits of the organization.',
        'LimitRange orrery has other values than the limits of the organization.',
        'ServiceAccount orrery-pods gives its pods a token.',
        'RoleBinding orrery-operator-tenant binds another role or user, is being deleted, or lacks its finalizer.',
        'label pod-security.kubernetes.io/enforce-version is missing or was changed.',
        'annotation orrery.dev/image-registries is missing or was changed.',
      ].map((fault) => `Namespace ${namespace}: Its ${fault}`),
      `ValidatingAdmissionPolicy orrery-status: It differs from the manifest of this version in spec/failurePolicy. ${install}`,
      `ValidatingAdmissionPolicyBinding orrery-deletion: It is missing. ${install}`,
      `CustomResourceDefinition worlds.orrery.dev: It differs from the manifest of this version in spec/names/shortNames/0. ${install}`,
      `Namespace ${stray}: Its organization is not in the database. If "orrery sync status" lists resources in it, run ` +
        '"orrery sync adopt". Otherwise it is of no use, and you may delete it.',
      'Pod default/left-behind: Its World gone does not exist. The operator deletes it; check that it runs.',
      `World ${edited}: Its resource differs in displayName, and no push is pending.`,
      `World ${lost}: Its resource is missing. The next sweep recreates it. If the sweep is held, run "orrery sync accept".`,
      `World ${frozen}: Its row is frozen: the row has revision 1, the resource 2. Run "orrery sync release".`,
      `World ${unpushed}: It has no resource, and no push is pending.`,
      `World ${namespace}/${orphan}: It is an orphan: it has no row. Run "orrery sync adopt" or "orrery sync remove".`,
    ].sort(),
  )
  api = await startApi({ databaseUrl })
  await eventually('what is safe is fixed', async () => {
    const left = doctor([namespace]).lines.filter((line) => line.startsWith('World ') || line.startsWith('Namespace '))
    return left.length === 2 && left.every((line) => line.includes(frozen) || line.includes(orphan))
  })
  await cluster.pods.delete({ namespace: 'default', name: 'left-behind' }, { gracePeriodSeconds: 0 })
})

test('orrery doctor names each organization that gets no host ports, and what is missing', async () => {
  const tenant = await aTenant(api.url)
  const namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, await tenant.world()).exists()
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, { hostPorts: true })
  await eventually('the namespace is privileged', async () =>
    cluster.kubectl('get', 'namespace', namespace, '-o', 'yaml').includes('enforce: privileged'),
  )
  expect(doctor([namespace]).lines.join()).not.toContain(namespace)
  cluster.kubectl('delete', 'validatingadmissionpolicybinding', 'orrery-host-ports')
  try {
    const install = 'Install the manifests of this version again: upgrade the chart, or apply its files.'
    const { status, lines } = doctor([namespace])
    expect(status).toBe(1)
    expect(lines).toContain(
      `Namespace ${namespace}: It gets no host ports: the admission policy orrery-host-ports has no binding. ${install}`,
    )
    expect(lines).toContain(
      'ValidatingAdmissionPolicyBinding orrery-host-ports: It is missing. Without it, no organization gets host ports. ' +
        install,
    )
  } finally {
    await installManifests({ kubeconfig: adminKubeconfig })
  }
})

test('orrery doctor says that everyone can grant runs where the admission policies are turned off', async () => {
  const text =
    'No admission policy is installed. Without it, everyone who may write Worlds and BotDeployments can grant runs'
  expect(doctor([]).lines.join()).not.toContain('can grant runs')
  cluster.kubectl('delete', 'validatingadmissionpolicybindings,validatingadmissionpolicies', '--all')
  try {
    expect(doctor([]).lines).toContainEqual(expect.stringContaining(text))
  } finally {
    await installManifests({ kubeconfig: adminKubeconfig })
  }
})
