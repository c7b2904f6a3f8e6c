import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { withKinds } from '#dev/kinds.ts'
import { freePort } from '#dev/ports.ts'
import { createClient } from '#shared/kube/client.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { gatewayApi } from '#test/support/gatewayApi.ts'
import { requestLog } from '#test/support/logServer.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type User = 'api' | 'operator'
type Proxy = Awaited<ReturnType<typeof createFaultProxy>>

const cluster = aCluster()
const bots = createClient<BotDeployment>(cluster.transport, botDeploymentResource)
const gateway = gatewayApi(cluster.transport)
const dir = mkdtempSync(join(tmpdir(), 'orrery-grants-'))
const profiles = { namespace: 'default', name: 'orrery-scaling-profiles' }
const logsKey = 'a-key-of-at-least-thirty-two-characters'
const common = {
  ORRERY_SCALING_PROFILES: `${profiles.namespace}/${profiles.name}`,
  ORRERY_ROUTE_GATEWAY: 'gateways/players',
}
let proxies: Readonly<Record<User, Proxy>>
let databaseUrl: string
let startOwnApi: () => Promise<ApiProcess>
let startOwnOperator: () => ReturnType<typeof startOperator>
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
let tenant: Tenant
let namespace: string

beforeAll(async () => {
  cluster.kubectl('-n', profiles.namespace, 'create', 'configmap', profiles.name)
  await gateway.isInstalled()
  proxies = {
    api: await createFaultProxy({ kubeconfig: getServers().apiKubeconfig }),
    operator: await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig }),
  }
  const [port, logsPort] = [await freePort(), String(await freePort())]
  databaseUrl = await aDatabase()
  startOwnApi = () =>
    startApi({
      databaseUrl,
      port,
      kubeconfig: proxies.api.kubeconfig,
      settings: { ...common, ORRERY_OPERATOR_URL: `http://127.0.0.1:${logsPort}`, ORRERY_LOGS_KEY: logsKey },
    })
  startOwnOperator = () =>
    startOperator({
      ...common,
      ORRERY_ROUTE_URL: 'wss://*.worlds.example.com',
      KUBECONFIG: proxies.operator.kubeconfig,
      ORRERY_STOP_GRACE_SECONDS: '1',
      ORRERY_LOGS_PORT: logsPort,
      ORRERY_LOGS_ADDRESS: '127.0.0.1',
      ORRERY_LOGS_KEY: logsKey,
    })
  // The operators of earlier files have left it, and this one must create it.
  cluster.kubectl('-n', 'default', 'delete', 'lease', 'orrery-operator', '--ignore-not-found')
  operator = await startOwnOperator()
  api = await startOwnApi()
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await Promise.all(Object.values(proxies ?? {}).map((proxy) => proxy.remove()))
  cluster.kubectl('-n', profiles.namespace, 'delete', 'configmap', profiles.name)
  await gateway.isRemoved()
  await cluster.close()
  rmSync(dir, { recursive: true, force: true })
})

const roles = {
  api: { file: 'api.yaml', names: ['orrery-api', 'orrery-api-tenant'] },
  operator: { file: 'operator.yaml', names: ['orrery-operator', 'orrery-operator-tenant', 'orrery-operator-lease'] },
} as const
type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] }
type Role = { kind: string; metadata: { name: string }; rules: Rule[] }

/** Returns the permissions of a user's roles in `dev/rbac`, as `verb resource`. */
const grantedTo = (user: User): string[] => {
  const { file, names } = roles[user]
  return parseAllDocuments(withKinds(readFileSync(new URL(`../../dev/rbac/${file}`, import.meta.url), 'utf8')))
    .map((document) => document.toJS() as Role)
    .filter(({ kind, metadata }) => kind.endsWith('Role') && names.some((name) => name === metadata.name))
    .flatMap(({ rules }) => rules)
    .flatMap(({ apiGroups, resources, verbs }) => {
      const group = apiGroups.includes('metrics.k8s.io') ? '.metrics.k8s.io' : ''
      return resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}${group}`))
    })
}

/** Returns the permissions that a process has used: an apply needs those to create and to patch. */
const usedBy = (user: User): Set<string> =>
  new Set([
    ...proxies[user].requested(),
    ...proxies[user].writes().flatMap(({ verb, resource }) => (verb === 'apply' ? [`create ${resource}`] : [])),
  ])

/** Permissions that the API server checks for other writes, and reads that only a cache that is behind needs. */
const unseen: Readonly<Record<User, readonly string[]>> = {
  api: ['bind clusterroles'],
  // With the admission plugin OwnerReferencesPermissionEnforcement, a pod that blocks its owner's deletion needs the updates.
  operator: ['update worlds/finalizers', 'update botdeployments/finalizers', 'get namespaces'],
}

/** The least that Pod Security `restricted` demands. */
const restrictedPod = {
  securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
  containers: [
    {
      name: 'server',
      image: 'registry.example/server:1',
      resources: { limits: { cpu: '1m', memory: '1Mi' } },
      securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
    },
  ],
}

const isRequested = (user: User, right: string) =>
  eventually(`${user}: ${right}`, async () => proxies[user].requested().has(right))

const aRun = async (body: object = {}): Promise<string> => {
  const networking = { strategy: 'ClusterIP', scaling: { profile: 'Capacity10' } }
  const id = await tenant.world({ networking, ...body })
  await tenant.rest.call('POST', `/api/worlds/${id}/bots/`, { count: 1 })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await cluster.pod(namespace, id).exists()
  await cluster.pod(namespace, id).becomesReady()
  await eventually('Active', async () => {
    const { body: world } = await tenant.rest.call<{ status: { phase: string } }>('GET', `/api/worlds/${id}/`)
    return world.status.phase === 'Active'
  })
  return id
}

/** Runs worlds to their ends: by their time, over REST, by a failing server, and on a node that is gone. */
const useWorlds = async (): Promise<void> => {
  const expiring = await aRun({ transient: true, runtime: { durationMinutes: 60 } })
  const deleted = await aRun()
  // There is no node, so the log cannot be read.
  await requestLog(api.url, { scope: tenant.scope, world: deleted })
  await isRequested('operator', 'get pods/log')
  // There is no metrics API either. Without the right, the answer would be another one.
  const metrics = await tenant.rest.call<{ detail: string }>('GET', `/api/worlds/${deleted}/metrics/`)
  expect([metrics.status, metrics.body.detail]).toEqual([501, expect.stringContaining('has no metrics API')])
  const selector = JSON.stringify({ spec: { selector: { changed: 'yes' } } })
  cluster.kubectl('-n', namespace, 'patch', 'service', deleted, '--type=merge', '-p', selector)
  await isRequested('operator', 'patch services')
  cluster.kubectl('-n', namespace, 'label', 'pod', deleted, 'orrery.dev/world-')
  await isRequested('operator', 'patch pods')
  await tenant.rest.call('PATCH', `/api/worlds/${expiring}/`, { runtime: { durationMinutes: 0.01 } })
  await tenant.rest.call('DELETE', `/api/worlds/${deleted}/`)
  for (const id of [expiring, deleted]) await cluster.world(namespace, id).isGone()
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, { hostPorts: true })
  await isRequested('api', 'get validatingadmissionpolicybindings')
  const lost = await tenant.world()
  await tenant.rest.call('POST', `/api/worlds/${lost}/start/`)
  const { metadata } = await cluster.pod(namespace, lost).exists()
  await cluster.pod(namespace, lost).isPutOn('a-node-that-never-was')
  await isRequested('operator', 'get nodes')
  await eventually('another pod', async () => {
    const pod = await cluster.pod(namespace, lost).find()
    return pod !== undefined && pod.metadata.uid !== metadata.uid
  })
}

/** Makes a route, which then loses the label by which the operator caches it. */
const useRoutes = async (): Promise<void> => {
  const id = await tenant.world({ networking: { strategy: 'Route', scaling: { profile: 'Capacity10' } } })
  await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
  await eventually('a route', async () => (await gateway.routes.list({ namespace })).items.length === 1)
  cluster.kubectl('-n', namespace, 'label', 'httproute', id, 'orrery.dev/world-')
  for (const verb of ['get', 'patch']) await isRequested('operator', `${verb} httproutes`)
}

/** Creates resources with kubectl that are adopted, refused again and again, or in the way. */
const useKubectl = async (): Promise<void> => {
  const metadata = { namespace, name: 'by-hand', labels: { 'orrery.dev/project': tenant.scope.projectId } }
  await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: { state: 'Stopped' } })
  await bots.create({
    apiVersion: groupVersion,
    kind: 'BotDeployment',
    metadata,
    spec: { worldName: 'by-hand', count: 0 },
  })
  await isRequested('api', 'patch worlds/status')
  await isRequested('api', 'patch botdeployments/status')
  const run = { runId: 'run-00000000000000000000000009', startedAt: '2026-01-01T00:00:00Z' }
  // An edit is no new one, and has no event, until the API has recorded that it put the same one back.
  await eventually('api: patch events', async () => {
    await cluster.worlds.patch(metadata, { spec: run })
    await eventually('the edit is put back, or left after three times', async () => {
      const { spec, status } = await cluster.worlds.get(metadata)
      const isLeft = status?.conditions?.some(({ reason }) => reason === 'EditRefusedAgain')
      return spec.startedAt === undefined || isLeft
    })
    return proxies.api.requested().has('patch events')
  })
  const blocked = await tenant.world({ networking: { strategy: 'ClusterIP', scaling: { profile: 'Capacity10' } } })
  cluster.kubectl('-n', namespace, 'create', 'service', 'clusterip', blocked, '--tcp=7777:7777')
  await tenant.rest.call('POST', `/api/worlds/${blocked}/start/`)
  await isRequested('operator', 'get services')
  const taken = await tenant.world()
  await cluster.pods.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace, name: taken },
    spec: restrictedPod,
  })
  await tenant.rest.call('POST', `/api/worlds/${taken}/start/`)
  await isRequested('operator', 'get pods')
}

/** Starts the operator beside bots whose BotDeployment is gone, and repeats a start. */
const useRestarts = async (): Promise<void> => {
  const world = await aRun()
  const { items } = await bots.list({ namespace })
  const [own] = items.filter(({ spec }) => spec.worldName === world)
  const metadata = { namespace, name: own?.metadata.name ?? '' }
  await eventually('a bot', async () => (await cluster.bots(namespace, metadata.name).indexes()).length === 1)
  await operator.stop()
  await api.stop()
  await bots.patch(metadata, { metadata: { finalizers: null } })
  await bots.delete(metadata)
  // The operators of earlier files have left it, and this one must create it.
  cluster.kubectl('-n', 'default', 'delete', 'lease', 'orrery-operator', '--ignore-not-found')
  operator = await startOwnOperator()
  await isRequested('operator', 'get botdeployments')
  api = await startOwnApi()
  for (const _ of ['first', 'second', 'third']) {
    await tenant.rest.call('POST', `/api/worlds/${world}/stop/`)
    await cluster.pod(namespace, world).isGone()
    await tenant.rest.call('POST', `/api/worlds/${world}/start/`)
    await cluster.pod(namespace, world).exists()
  }
  await isRequested('operator', 'patch events')
}

/** Deletes an organization, whose namespace is empty in the end. */
const useDeletion = async (): Promise<void> => {
  const deleted = await aTenant(api.url)
  const place = `orrery-${deleted.scope.organizationId}`
  await cluster.world(place, await deleted.world()).exists()
  await deleted.rest.call('DELETE', `/api/organizations/${deleted.scope.organizationId}/`)
  await eventually(
    'no role is bound',
    async () => cluster.kubectl('-n', place, 'get', 'rolebinding', '-o', 'name') === '',
  )
}

/** Starts the API beside a RoleBinding with another role. */
const useBindings = async (): Promise<void> => {
  await api.stop()
  const binding = ['-n', namespace, 'rolebinding', 'orrery-operator-tenant'] as const
  const [where, place, kind, name] = binding
  cluster.kubectl(where, place, 'patch', kind, name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}')
  cluster.kubectl(where, place, 'delete', kind, name)
  cluster.kubectl(where, place, 'create', kind, name, '--clusterrole=view', '--user=orrery-operator')
  cluster.kubectl(where, place, 'label', kind, name, 'app.kubernetes.io/managed-by=orrery-api')
  api = await startOwnApi()
  await isRequested('api', 'delete rolebindings')
}

test('every permission of the roles is used, also to read, and no request is refused', async () => {
  await useWorlds()
  await useRoutes()
  await useKubectl()
  await useRestarts()
  await useDeletion()
  const refused = [...proxies.api.writes(), ...proxies.operator.writes()].filter(({ status }) => status === 403)
  expect(refused).toEqual([])
  // While the other role is bound, the operator has no rights.
  await useBindings()
  for (const user of ['api', 'operator'] as const) {
    const used = usedBy(user)
    const unused = grantedTo(user).filter((right) => !used.has(right) && !unseen[user].includes(right))
    expect([user, unused]).toEqual([user, []])
  }
})

test('without the right to bind the roles of a namespace, the API cannot bind them', async () => {
  const role = 'orrery-api'
  const { rules, ...others } = JSON.parse(cluster.kubectl('get', 'clusterrole', role, '-o', 'json')) as Role
  const replace = (wanted: Rule[]): void => {
    const file = join(dir, 'role.json')
    writeFileSync(file, JSON.stringify({ ...others, metadata: { name: role }, rules: wanted }))
    cluster.kubectl('replace', '-f', file)
  }
  const bind = (): string => {
    try {
      const args = ['create', 'rolebinding', 'orrery-operator-tenant', '--clusterrole=orrery-operator-tenant']
      const from = ['--user=orrery-operator', '--dry-run=server', '--as=orrery-api', '-n', 'default']
      return cluster.kubectl(...args, ...from)
    } catch (error) {
      return (error as { stderr: string }).stderr
    }
  }
  // The admission policy refuses the namespace, after the right was checked.
  expect(bind()).toContain('labelled namespaces')
  replace(rules.filter(({ verbs }) => !verbs.includes('bind')))
  try {
    await eventually('the right is gone', async () => bind().includes('attempting to grant'))
  } finally {
    replace(rules)
  }
  await eventually('the right is back', async () => bind().includes('labelled namespaces'))
})
