import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { groupVersion, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { metricOf } from '#test/support/metrics.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-roles-'))
let api: ApiProcess
let databaseUrl: string
let namespace: string
let world: string

beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  const tenant = await aTenant(api.url)
  world = await tenant.world()
  namespace = `orrery-${tenant.scope.organizationId}`
  await cluster.world(namespace, world).exists()
  cluster.kubectl('create', 'namespace', 'orrery-system')
  // A cluster user that is neither API, operator nor restore tool.
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
/** Writes a kubeconfig of an administrator who acts as another user. */
const kubeconfigOf = (user: string): string => {
  const config = parse(readFileSync(getServers().adminKubeconfig, 'utf8')) as { users: { user: object }[] }
  const users = config.users.map((each) => ({ ...each, user: { ...each.user, as: user } }))
  const file = join(dir, `${user}.kubeconfig`)
  writeFileSync(file, stringify({ ...config, users }), { mode: 0o600 })
  return file
}
/** Runs kubectl as a user. Returns its output, or its error output if it fails. */
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
  'patch worlds.orrery.dev --subresource=status',
  'patch botdeployments.orrery.dev --subresource=status',
  'patch networkpolicies.networking.k8s.io',
] as const
const split = (right: string): [string, string] => [right.split(' ')[0] ?? '', right.split(' ').slice(1).join(' ')]

test('each process writes only in the namespaces of organizations', () => {
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

const apply = (user: User, object: object, manager = 'orrery-api'): string => {
  const file = join(dir, 'object.json')
  writeFileSync(file, JSON.stringify(object))
  return kubectl(user, 'apply', '--server-side', '--force-conflicts', `--field-manager=${manager}`, '-f', file)
}

describe('the admission policies refuse', () => {
  const binding = (where: string, role: string, subject: object) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: role, namespace: where },
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
    'pod-security.kubernetes.io/enforce-version': 'v1.30',
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
    ['a relabelled namespace', () => space('kube-system', own), 'named <prefix>-<organizationId>'],
    ['a namespace of another name', () => space('orrery-system', own), 'named <prefix>-<organizationId>'],
    [
      'a namespace without Pod Security',
      () => space(`orrery-${own['orrery.dev/organization']}`, unprotected),
      'Pod Security level',
    ],
    [
      'a namespace with another version of Pod Security',
      () =>
        space(`orrery-${own['orrery.dev/organization']}`, {
          ...own,
          'pod-security.kubernetes.io/enforce-version': 'v1.0',
        }),
      'Pod Security version',
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
    expect(apply('eve', made, 'eve')).toContain('spec.revision')
  })

  test('a policy of a namespace that a user writes', () => {
    const annotations = [
      'orrery.dev/limits={}',
      'orrery.dev/image-registries=evil.example',
      'orrery.dev/service-account=default',
      'orrery.dev/closed=true',
    ]
    for (const annotation of annotations) {
      const said = kubectl('eve', 'annotate', '--overwrite', 'namespace', namespace, annotation)
      expect(said).toContain('Only the API writes the limits')
    }
    expect(kubectl('eve', 'annotate', 'namespace', namespace, 'orrery.dev/limits-')).toContain('Only the API writes')
    expect(kubectl('eve', 'annotate', 'namespace', namespace, 'example.com/note=mine')).toContain('annotated')
  })

  test('the label of an organization that a user adds, changes or removes, in any namespace', async () => {
    const label = (name: string, value: string) =>
      kubectl('eve', 'label', '--overwrite', 'namespace', name, `orrery.dev/organization${value}`)
    const refusal = 'Only the API writes the label orrery.dev/organization'
    for (const [name, value] of [
      ['orrery-system', `=${own['orrery.dev/organization']}`],
      ['orrery-system', '='],
      [namespace, `=${own['orrery.dev/organization']}`],
      [namespace, '-'],
    ] as const) {
      expect([name, value, label(name, value)]).toEqual([name, value, expect.stringContaining(refusal)])
    }
    expect(apply('eve', space('labelled', { 'orrery.dev/organization': 'mine' }), 'eve')).toContain(refusal)
    expect(apply('eve', space('unlabelled', { 'example.com/team': 'mine' }), 'eve')).toContain('serverside-applied')
    // A restore tool may write it.
    expect(cluster.kubectl('label', 'namespace', 'unlabelled', 'orrery.dev/organization=other')).toContain('labeled')
    expect(label('unlabelled', '-')).toContain(refusal)
    expect(kubectl('eve', 'label', 'namespace', 'unlabelled', 'example.com/stage=dev')).toContain('labeled')
    cluster.kubectl('label', 'namespace', 'unlabelled', 'orrery.dev/organization-')
  })

  test('a status that a user writes, and a phase that the API writes', async () => {
    const patch = '{"status":{"phase":"Active"}}'
    expect(
      kubectl('eve', '-n', namespace, 'patch', 'world', world, '--subresource=status', '--type=merge', '-p', patch),
    ).toContain('Only the operator writes the status')
    const transport = createTransport({
      credentials: loadCredentials({ KUBECONFIG: getServers().apiKubeconfig }),
      userAgent: 'orrery-tests',
    })
    const worlds = createClient<World>(transport, worldResource)
    const applyStatus = (status: object) =>
      worlds.applyStatus(
        { apiVersion: groupVersion, kind: 'World', metadata: { namespace, name: world }, status },
        { fieldManager: 'orrery-api' },
      )
    const condition = (type: string) => ({
      type,
      status: 'True',
      reason: 'Applied',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    })
    await expect(applyStatus({ phase: 'Active' })).rejects.toThrow('The API may write the condition Synced')
    await expect(applyStatus({ conditions: [condition('Ready')] })).rejects.toThrow('only the condition Synced')
    await expect(applyStatus({ conditions: [condition('Synced')] })).resolves.toBeDefined()
    await transport.close()
  })

  describe('as a field manager of the processes', () => {
    const rename = (manager: string, name: string): string[] => [
      ...['-n', namespace, 'patch', 'world', world, '--type=merge', `--field-manager=${manager}`],
      ...['-p', JSON.stringify({ spec: { displayName: name } })],
    ]

    test.each(['orrery-api', 'orrery-operator'])('a patch and an apply by a user as %s', async (manager) => {
      await eventually('the policy is in force', async () => {
        const said = kubectl('eve', ...rename(manager, 'Forged'))
        if (!said.includes('are reserved')) throw new Error(said)
        return true
      })
      const metadata = { name: 'forged-manager', namespace }
      const created = { apiVersion: groupVersion, kind: 'World', metadata, spec: {} }
      expect(apply('eve', created, manager)).toContain('are reserved')
      expect(kubectl('eve', ...rename('kubectl', 'Renamed'))).toContain('patched')
    })

    test('a patch by a user whose User-Agent is that of the API', async () => {
      const transport = createTransport({
        credentials: loadCredentials({ KUBECONFIG: kubeconfigOf('eve') }),
        userAgent: 'orrery-api',
      })
      const worlds = createClient<World>(transport, worldResource)
      const patch = { spec: { displayName: 'Forged' } }
      await expect(worlds.patch({ namespace, name: world }, patch)).rejects.toThrow('send another User-Agent')
      await expect(worlds.patch({ namespace, name: world }, patch, { fieldManager: 'eve' })).resolves.toBeDefined()
      await transport.close()
    })

    test('a replacement by a user that makes the API the manager of an edited field', async () => {
      type Fields = { manager: string; fieldsV1: { 'f:spec'?: object } }
      type Live = { metadata: { managedFields: Fields[] } }
      const read = (): Live =>
        JSON.parse(kubectl('eve', '-n', namespace, 'get', 'world', world, '-o', 'json', '--show-managed-fields'))
      const annotate = (annotation: string) => kubectl('eve', '-n', namespace, 'annotate', 'world', world, annotation)
      const replaceWith = (change: (live: Live) => Live) =>
        // The operator may write the status between the read and the replacement.
        eventually('an answer without a conflict', async () => {
          const file = join(dir, 'replaced.json')
          writeFileSync(file, JSON.stringify(change(read())))
          const said = kubectl('eve', 'replace', '-f', file)
          return !said.includes('(Conflict)') && said
        })
      await eventually('the API manages the name', async () =>
        read().metadata.managedFields.some(
          ({ manager, fieldsV1 }) => manager === 'orrery-api' && 'f:displayName' in (fieldsV1['f:spec'] ?? {}),
        ),
      )
      // The API does not write a paused resource, so it does not adopt the edit below meanwhile.
      expect(annotate('orrery.dev/paused=true')).toContain('annotated')
      const { metadata: before } = read()
      expect(kubectl('eve', ...rename('kubectl', 'Mine'))).toContain('patched')
      const forge = ({ metadata, ...live }: Live): Live => ({
        ...live,
        metadata: { ...metadata, managedFields: before.managedFields },
      })
      expect(await replaceWith(forge)).toContain('leave out metadata.managedFields')
      expect(await replaceWith((live) => live)).toContain('replaced')
      expect(annotate('orrery.dev/paused-')).toContain('annotated')
    })
  })

  test("no edit of a world's state by a user", () => {
    const patch = '{"spec":{"state":"Stopped","displayName":"Mine"}}'
    expect(kubectl('eve', '-n', namespace, 'patch', 'world', world, '--type=merge', '-p', patch)).toContain('patched')
  })
})

test.each([
  ['rolebinding', 'orrery-operator-tenant'],
  ['networkpolicy', 'default-deny'],
  ['resourcequota', 'orrery'],
  ['limitrange', 'orrery'],
  ['serviceaccount', 'orrery-pods'],
])('a deleted %s is recreated', async (kind, name) => {
  cluster.kubectl('-n', namespace, 'delete', kind, name)
  await eventually('it is there', async () =>
    cluster.kubectl('-n', namespace, 'get', kind, '-o', 'name').includes(name),
  )
})

test('a RoleBinding with another role is replaced', async () => {
  const foreign = {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'orrery-operator-tenant', namespace, labels: { 'app.kubernetes.io/managed-by': 'orrery-api' } },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'orrery-operator' }],
  }
  const file = join(dir, 'foreign.json')
  writeFileSync(file, JSON.stringify(foreign))
  // A running API would restore the deleted binding before the other one is created.
  await api.stop()
  const binding = ['rolebinding', 'orrery-operator-tenant'] as const
  cluster.kubectl('-n', namespace, 'patch', ...binding, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
  cluster.kubectl('-n', namespace, 'delete', ...binding)
  cluster.kubectl('create', '-f', file)
  api = await startApi({ databaseUrl })
  await eventually('the role is bound again', async () => {
    const live = cluster.kubectl('-n', namespace, 'get', ...binding, '-o', 'json')
    return JSON.parse(live).roleRef.name === 'orrery-operator-tenant'
  })
  const answer = kubectl('api', '-n', 'default', 'delete', ...binding)
  expect(answer).toContain('only in the labelled')
})

test.each([
  ['networkpolicy', 'default-deny'],
  ['resourcequota', 'orrery'],
])('the labels of a %s are restored', async (kind, name) => {
  cluster.kubectl('-n', namespace, 'label', kind, name, 'orrery.dev/organization-')
  await eventually('it is labelled', async () =>
    cluster
      .kubectl('-n', namespace, 'get', kind, '-l', 'orrery.dev/organization,app.kubernetes.io/managed-by', '-o', 'name')
      .includes(name),
  )
})

test('a namespace that is as it should be is not written again', async () => {
  const proxy = await createFaultProxy({ kubeconfig: getServers().apiKubeconfig })
  const own = await startApi({ databaseUrl: await aDatabase(), kubeconfig: proxy.kubeconfig })
  const tenant = await aTenant(own.url)
  const place = `orrery-${tenant.scope.organizationId}`
  await cluster.world(place, await tenant.world()).exists()
  const depth = /^workqueue_depth\{[^}]*name="repair"[^}]*\} (\d+)$/gm
  const reconciles = /^controller_runtime_reconcile_total\{[^}]*controller="repair"[^}]*\} (\d+)$/gm
  const count = (): Promise<number> => metricOf(own.metricsUrl, reconciles)
  await eventually('the new namespace is checked', async () => {
    return (await count()) > 0 && (await metricOf(own.metricsUrl, depth)) === 0
  })
  const [checked, written] = [await count(), proxy.writes(place).length]
  cluster.kubectl('annotate', 'namespace', place, 'orrery.dev/note=seen')
  await eventually('the changed namespace is checked', async () => (await count()) > checked)
  expect(proxy.writes(place).slice(written)).toEqual([])
  await own.stop()
  await proxy.remove()
})

test('everything in a namespace that is deleted while no API runs is there again after its start, without a push', async () => {
  const kinds = 'rolebinding,networkpolicy,resourcequota,limitrange,serviceaccount'
  const own = 'app.kubernetes.io/managed-by=orrery-api'
  type Kept = { kind: string; metadata: { name: string }; spec?: object; subjects?: object }
  const keptObjects = () => {
    const found = cluster.kubectl('-n', namespace, 'get', kinds, '-l', own, '-o', 'json')
    // Each process of the API has its own port here.
    const { items } = JSON.parse(found.replaceAll(`: ${new URL(api.url).port}`, ': 1')) as { items: Kept[] }
    return items.map(({ kind, metadata: { name }, spec, subjects }) => ({ kind, name, spec, subjects }))
  }
  const version = () =>
    cluster.kubectl('-n', namespace, 'get', 'world', world, '-o', 'jsonpath={.metadata.resourceVersion}')
  const securityVersion = () => {
    const { metadata } = JSON.parse(cluster.kubectl('get', 'namespace', namespace, '-o', 'json')) as {
      metadata: { labels: Record<string, string> }
    }
    return metadata.labels['pod-security.kubernetes.io/enforce-version']
  }
  const [kept, pushed] = [keptObjects(), version()]
  const count = (kind: string): number => kept.filter((each) => each.kind === kind).length
  expect([count('NetworkPolicy'), count('RoleBinding'), kept.length]).toEqual([4, 2, 9])
  await api.stop()
  for (const { kind, name } of kept) {
    const object = [kind.toLowerCase(), name]
    cluster.kubectl('-n', namespace, 'patch', ...object, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
    cluster.kubectl('-n', namespace, 'delete', ...object)
  }
  cluster.kubectl('label', '--overwrite', 'namespace', namespace, 'pod-security.kubernetes.io/enforce-version=latest')
  expect(keptObjects()).toEqual([])
  api = await startApi({ databaseUrl })
  await eventually('all are there', async () => keptObjects().length === kept.length && securityVersion() === 'v1.30')
  expect(keptObjects()).toEqual(kept)
  expect(version()).toBe(pushed)
})

test.each([
  ['networkpolicy', 'default-deny'],
  ['resourcequota', 'orrery'],
  ['limitrange', 'orrery'],
  ['rolebinding', 'orrery-operator-tenant'],
  ['serviceaccount', 'orrery-pods'],
])('a label that is removed from the %s %s is put back, although the cache selects by it', async (...object) => {
  const label = 'app.kubernetes.io/managed-by'
  const read = () => JSON.parse(cluster.kubectl('-n', namespace, 'get', ...object, '-o', 'json')) as KubeObject
  const { uid } = read().metadata
  cluster.kubectl('-n', namespace, 'label', ...object, `${label}-`)
  await eventually('the label is back', async () => read().metadata.labels?.[label] === 'orrery-api')
  expect(read().metadata.uid).toBe(uid)
})

test('an edited network policy is restored', async () => {
  const open = JSON.stringify({ spec: { policyTypes: ['Ingress'], ingress: [{}] } })
  cluster.kubectl('-n', namespace, 'patch', 'networkpolicy', 'default-deny', '--type=merge', '-p', open)
  await eventually('it is closed', async () => {
    const { spec } = JSON.parse(cluster.kubectl('-n', namespace, 'get', 'networkpolicy', 'default-deny', '-o', 'json'))
    return spec.ingress === undefined && spec.policyTypes.length === 2
  })
})

test.each([
  ['resourcequota', '{"spec":{"hard":{"pods":"1M","services":"5"}}}', '1M'],
  ['limitrange', '{"spec":{"limits":[{"type":"Container","max":{"cpu":"999"}}]}}', '999'],
])('an edited %s is restored', async (kind, patch, changed) => {
  const read = (): string => cluster.kubectl('-n', namespace, 'get', kind, 'orrery', '-o', 'jsonpath={.spec}')
  const before = read()
  const patched = cluster.kubectl('-n', namespace, 'patch', kind, 'orrery', '--type=merge', '-p', patch, '-o', 'json')
  expect(patched).toContain(changed)
  await eventually(
    'it is as before',
    async () => JSON.stringify(JSON.parse(read())) === JSON.stringify(JSON.parse(before)),
  )
})

test('no network policy allows every address, and DNS is limited to the cluster', () => {
  const { items } = JSON.parse(cluster.kubectl('-n', namespace, 'get', 'networkpolicy', '-o', 'json')) as {
    items: { metadata: { name: string }; spec: { egress?: { to?: object[] }[] } }[]
  }
  const rules = items.flatMap(({ spec }) => spec.egress ?? [])
  expect(rules.length).toBeGreaterThan(0)
  for (const rule of rules) expect(rule.to?.length ?? 0).toBeGreaterThan(0)
  expect(JSON.stringify(rules)).toContain('"k8s-app":"kube-dns"')
})

test.each([
  ['the namespace of an organization', () => ['namespace', namespace]],
  ['a definition of the product', () => ['crd', 'worlds.orrery.dev']],
])('deleting %s is refused unless an annotation allows it', async (_, target) => {
  const [kind = '', name = ''] = target()
  const tryDelete = () => kubectl('eve', 'delete', kind, name, '--dry-run=server')
  await eventually('the policy is in force', async () => tryDelete().includes('orrery.dev/allow-delete'))
  kubectl('eve', 'annotate', kind, name, 'orrery.dev/allow-delete=true')
  expect(tryDelete()).toContain('deleted (server dry run)')
  kubectl('eve', 'annotate', kind, name, 'orrery.dev/allow-delete-')
})
