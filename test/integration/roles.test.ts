import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-roles-'))
let api: ApiProcess
let namespace: string
let world: string

beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  const tenant = await aTenant(api.url)
  world = await tenant.world()
  namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, world).exists()
  cluster.kubectl('create', 'namespace', 'orrery-system')
  // A user of the cluster who is neither of the processes and no restore tool.
  cluster.kubectl('create', 'clusterrolebinding', 'eve', '--clusterrole=cluster-admin', '--user=eve')
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
  rmSync(dir, { recursive: true, force: true })
})

type User = 'api' | 'operator' | 'eve'
const argumentsOf = (user: User): string[] => {
  if (user === 'eve') return ['--kubeconfig', getServers().adminKubeconfig, '--as=eve']
  return ['--kubeconfig', getServers()[user === 'api' ? 'apiKubeconfig' : 'operatorKubeconfig']]
}
/** Runs kubectl as a user. Returns its output, or what it says of a failure. */
const kubectl = (user: User, ...args: string[]): string => {
  try {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
    return execFileSync(getServers().kubectl, [...argumentsOf(user), ...args], { encoding: 'utf8', stdio }).trim()
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return stdout.trim() || stderr.trim()
  }
}
const canI = (user: User, where: string, verb: string, what: string): string =>
  kubectl(user, 'auth', 'can-i', verb, ...what.split(' '), '-n', where)
    .split('\n')
    .at(-1) ?? ''

const operatorWrites = ['create pods', 'delete pods', 'create services', 'delete worlds.orrery.dev'] as const
const apiWrites = [
  'patch worlds.orrery.dev',
  'delete worlds.orrery.dev',
  'patch networkpolicies.networking.k8s.io',
] as const
const split = (right: string): [string, string] => [right.split(' ')[0] ?? '', right.split(' ').slice(1).join(' ')]

test('each process writes in the namespace of an organization, and nowhere else', () => {
  for (const [user, rights] of [
    ['operator', operatorWrites],
    ['api', apiWrites],
  ] as const) {
    for (const right of rights) {
      expect([user, right, canI(user, namespace, ...split(right))]).toEqual([user, right, 'yes'])
      expect([user, right, canI(user, 'kube-system', ...split(right))]).toEqual([user, right, 'no'])
    }
  }
})

const apply = (user: User, object: object): string => {
  const file = join(dir, 'object.json')
  writeFileSync(file, JSON.stringify(object))
  return kubectl(user, 'apply', '--server-side', '--force-conflicts', '--field-manager=orrery-api', '-f', file)
}

describe('the admission policies refuse', () => {
  const binding = (where: string, role: string, subject: object) => ({
    ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', metadata: { name: role, namespace: where } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', ...subject }],
  })
  const operator = { kind: 'User', name: 'orrery-operator' }
  const eve = { kind: 'User', name: 'eve' }
  const space = (name: string, labels: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  })
  const own = {
    'app.kubernetes.io/managed-by': 'orrery-api',
    'pod-security.kubernetes.io/enforce': 'restricted',
    'orrery.dev/organization': 'org-00000000000000000000000000',
  }
  const unprotected = { ...own, 'pod-security.kubernetes.io/enforce': 'privileged' }

  test.each([
    [
      'a binding in kube-system',
      () => binding('kube-system', 'orrery-operator-tenant', operator),
      'labelled namespaces',
    ],
    [
      'a binding in the namespace of the install',
      () => binding('orrery-system', 'orrery-operator-tenant', operator),
      'labelled namespaces',
    ],
    ['a binding to another user', () => binding(namespace, 'orrery-operator-tenant', eve), 'only to the user'],
    ['a binding of another role', () => binding(namespace, 'cluster-admin', operator), 'attempting to grant'],
    ['a relabelled namespace', () => space('kube-system', own), 'named after an organization'],
    ['a namespace of another name', () => space('orrery-system', own), 'named after an organization'],
    [
      'a namespace without Pod Security',
      () => space(`orrery-${own['orrery.dev/organization']}`, unprotected),
      'Pod Security level',
    ],
  ])('%s by the API', async (_, object, sentence) => {
    await eventually('the policy is in force', async () => {
      const said = apply('api', object())
      if (!said.includes(sentence)) throw new Error(said)
      return true
    })
  })

  test.each([
    ['a run id', { runId: 'run-00000000000000000000000000', startedAt: '2026-01-01T00:00:00Z' }, 'spec.runId'],
    ['a revision', { revision: 99 }, 'spec.revision'],
  ])('%s that a user writes into a resource of the API', (_, spec, sentence) => {
    const patch = JSON.stringify({ spec })
    expect(kubectl('eve', '-n', namespace, 'patch', 'world', world, '--type=merge', '-p', patch)).toContain(sentence)
  })

  test('a resource that a user creates with a revision', () => {
    const made = {
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'World',
      metadata: { name: 'forged', namespace },
      spec: { revision: 1 },
    }
    expect(apply('eve', made)).toContain('spec.revision')
  })

  test('a status that a user writes, and a phase that the API writes', () => {
    const patch = '{"status":{"phase":"Active"}}'
    const write = (user: User) =>
      kubectl(user, '-n', namespace, 'patch', 'world', world, '--subresource=status', '--type=merge', '-p', patch)
    expect(write('eve')).toContain('Only the operator writes the status')
    cluster.kubectl(
      '-n',
      namespace,
      'create',
      'rolebinding',
      'api-status',
      '--clusterrole=cluster-admin',
      '--user=orrery-api',
    )
    expect(write('api')).toContain('The API may write the condition Synced')
    const synced = {
      type: 'Synced',
      status: 'True',
      reason: 'Applied',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }
    const conditions = (type: string) => JSON.stringify({ status: { conditions: [{ ...synced, type }] } })
    const writeCondition = (type: string) =>
      kubectl(
        'api',
        '-n',
        namespace,
        'patch',
        'world',
        world,
        '--subresource=status',
        '--type=merge',
        '-p',
        conditions(type),
      )
    expect(writeCondition('Ready')).toContain('only Synced')
    expect(writeCondition('Synced')).toContain('patched')
    cluster.kubectl('-n', namespace, 'delete', 'rolebinding', 'api-status')
  })

  test('nothing of a user who edits the state of a world', () => {
    const patch = '{"spec":{"state":"Stopped","displayName":"Mine"}}'
    expect(kubectl('eve', '-n', namespace, 'patch', 'world', world, '--type=merge', '-p', patch)).toContain('patched')
  })
})

/** The writing rights of roles in `dev/rbac`, as `verb resource`. */
const writesOf = (file: string, roles: readonly string[]): string[] =>
  parseAllDocuments(readFileSync(new URL(`../../dev/rbac/${file}`, import.meta.url), 'utf8'))
    .map((document) => document.toJS() as { kind: string; metadata: { name: string }; rules: Rule[] })
    .filter(({ kind, metadata }) => kind === 'ClusterRole' && roles.includes(metadata.name))
    .flatMap(({ rules }) => rules)
    .flatMap(({ resources, verbs }) => resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)))
    .filter((right) => !/^(get|list|watch) /.test(right))
type Rule = { resources: string[]; verbs: string[] }
/** Rights that no write of its own uses: checks of other writes, and repetitions of an event. */
const unseen = ['bind clusterroles', 'update worlds/finalizers', 'update botdeployments/finalizers', 'patch events']

test('every writing right of the roles is used, and no write is refused', async () => {
  const proxies = {
    api: await createFaultProxy({ kubeconfig: getServers().apiKubeconfig }),
    operator: await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig }),
  }
  const own = await startApi({ databaseUrl: await aDatabase(), kubeconfig: proxies.api.kubeconfig })
  const operator = await startOperator({ KUBECONFIG: proxies.operator.kubeconfig, ORRERY_STOP_GRACE_SECONDS: '1' })
  const tenant = await aTenant(own.url)
  const place = `orrery-${tenant.scope.organizationId}`
  const aRun = async (body: object): Promise<string> => {
    const id = await tenant.world({
      networking: { strategy: 'ClusterIP', scaling: { profile: 'Capacity10' } },
      ...body,
    })
    await tenant.rest.call('POST', `/api/worlds/${id}/bots/`, { count: 1 })
    await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    await cluster.pod(place, id).exists()
    await cluster.pod(place, id).becomesReady()
    return id
  }
  // One ends by itself and is deleted by the operator, the other is deleted over REST, with its bots.
  const expiring = await aRun({ transient: true, runtime: { durationMinutes: 0.1 } })
  const deleted = await aRun({})
  await tenant.rest.call('DELETE', `/api/worlds/${deleted}/`)
  for (const id of [expiring, deleted]) await cluster.world(place, id).isGone()
  const neighbour = await aTenant(own.url)
  const there = `orrery-${neighbour.scope.organizationId}`
  await cluster.world(there, await neighbour.world()).exists()
  const name = await tenant.world()
  const stranger = { apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata: { name, namespace: there } }
  await cluster.worlds.create({ ...stranger, spec: { state: 'Stopped' } })
  await eventually('the event on a stranger', async () =>
    proxies.api.writes().some(({ resource }) => resource === 'events'),
  )
  for (const [user, file, roles] of [
    ['api', 'api.yaml', ['orrery-api', 'orrery-api-tenant']],
    ['operator', 'operator.yaml', ['orrery-operator', 'orrery-operator-tenant']],
  ] as const) {
    const writes = proxies[user].writes()
    expect(writes.filter(({ status }) => status === 403)).toEqual([])
    const used = writes.flatMap(({ verb, resource }) =>
      (verb === 'apply' ? ['create', 'patch'] : [verb]).map((each) => `${each} ${resource}`),
    )
    expect(writesOf(file, roles).filter((right) => !unseen.includes(right) && !used.includes(right))).toEqual([])
  }
  await Promise.all([own.stop(), operator.stop()])
  await Promise.all([proxies.api.remove(), proxies.operator.remove()])
})

test.each([
  ['rolebinding', 'orrery-operator-tenant'],
  ['networkpolicy', 'default-deny'],
])('a deleted %s is made again', async (kind, name) => {
  cluster.kubectl('-n', namespace, 'delete', kind, name)
  await eventually('it is there', async () =>
    cluster.kubectl('-n', namespace, 'get', kind, '-o', 'name').includes(name),
  )
})

test('a network policy that was opened is closed again', async () => {
  const open = JSON.stringify({ spec: { policyTypes: ['Ingress'], ingress: [{}] } })
  cluster.kubectl('-n', namespace, 'patch', 'networkpolicy', 'default-deny', '--type=merge', '-p', open)
  await eventually('it is closed', async () => {
    const { spec } = JSON.parse(cluster.kubectl('-n', namespace, 'get', 'networkpolicy', 'default-deny', '-o', 'json'))
    return spec.ingress === undefined && spec.policyTypes.length === 2
  })
})

test('no rule leads to every address, and names are asked of the cluster alone', () => {
  const { items } = JSON.parse(cluster.kubectl('-n', namespace, 'get', 'networkpolicy', '-o', 'json')) as {
    items: { metadata: { name: string }; spec: { egress?: { to?: object[] }[] } }[]
  }
  const rules = items.flatMap(({ spec }) => spec.egress ?? [])
  expect(rules.length).toBeGreaterThan(0)
  for (const rule of rules) expect(rule.to?.length ?? 0).toBeGreaterThan(0)
  expect(JSON.stringify(rules)).toContain('"k8s-app":"kube-dns"')
})
