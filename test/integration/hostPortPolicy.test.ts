import { execFileSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installManifests } from '#dev/kubernetes/manifests.ts'
import { aCluster } from '#test/support/cluster.ts'
import { namespacePrefixes } from '#test/support/namespacePrefixes.ts'
import { type ApiProcess, aDatabase, logLines, startApi, startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const parameters = { namespacePrefix: namespacePrefixes, hostPorts: 'default=7000-8000,static=27015' }
const policy = ['validatingadmissionpolicy', 'orrery-host-ports'] as const
const binding = ['validatingadmissionpolicybinding', 'orrery-host-ports'] as const
/** A namespace outside of organizations, which an administrator labelled. */
const labelled = 'host-ports'
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
/** Kubernetes before 1.33 drops `procMount`. */
let hasProcMount: boolean

const install = () => installManifests({ kubeconfig: getServers().adminKubeconfig, parameters })

beforeAll(async () => {
  await install()
  const version = await cluster.transport.request<{ minor: string }>({ method: 'GET', path: '/version' })
  hasProcMount = Number.parseInt(version.minor, 10) >= 33
  api = await startApi({ databaseUrl: await aDatabase(), settings: { ORRERY_HOST_PORT_CHECK_MS: '200' } })
  operator = await startOperator()
  cluster.kubectl('create', 'clusterrolebinding', 'host-port-eve', '--clusterrole=cluster-admin', '--user=eve')
  cluster.kubectl('create', 'namespace', labelled)
  expect(
    kubectlAs('eve', 'label', 'namespace', labelled, 'orrery.dev/host-ports=true', `${enforce}=privileged`),
  ).toContain('labeled')
  await eventually('the policy is in force', async () =>
    (await refusalOf({ spec: { hostNetwork: true } })).includes('orrery-host-ports'),
  )
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await installManifests({
    kubeconfig: getServers().adminKubeconfig,
    parameters: { namespacePrefix: namespacePrefixes },
  })
  cluster.kubectl('delete', 'clusterrolebinding', 'host-port-eve')
  await cluster.close()
})

const enforce = 'pod-security.kubernetes.io/enforce'
/** Runs kubectl as another user. Returns its output, or its error output if it fails. */
const kubectlAs = (user: 'eve' | 'orrery-api' | 'orrery-operator', ...args: string[]): string => {
  const { kubectl, adminKubeconfig } = getServers()
  try {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe']
    return execFileSync(kubectl, ['--kubeconfig', adminKubeconfig, `--as=${user}`, ...args], {
      encoding: 'utf8',
      stdio,
    })
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
}

type Change = {
  readonly metadata?: object
  readonly spec?: object
  /** Fields of the container, and of its securityContext. */
  readonly container?: object
  readonly context?: object
}

/** The container that Pod Security `restricted` accepts, with a change. */
const aContainer = ({ container = {}, context = {} }: Change = {}) => ({
  name: 'server',
  image: 'registry.example/server:1',
  ...container,
  securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, ...context },
})
const podContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }
const aPod = (change: Change = {}, namespace = labelled) => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'a-pod', namespace, ...change.metadata },
  spec: { securityContext: podContext, containers: [aContainer(change)], ...change.spec },
})
const dryRun = (pod: ReturnType<typeof aPod>) =>
  cluster.transport.request<ReturnType<typeof aPod>>({
    method: 'POST',
    path: `/api/v1/namespaces/${pod.metadata.namespace}/pods?dryRun=All`,
    body: pod,
  })
/** Returns the error of the creation of a pod as a dry run, or an empty text. */
const refusalOf = (change: Change): Promise<string> =>
  dryRun(aPod(change)).then(
    () => '',
    (error: Error) => error.message,
  )
const withPodContext = (context: object): Change => ({ spec: { securityContext: { ...podContext, ...context } } })
const withPort = (port: object): Change => ({ container: { ports: [{ containerPort: 1, ...port }] } })

const windows = { windowsOptions: { hostProcess: true } }
const spc = { seLinuxOptions: { type: 'spc_t' } }
const http = { httpGet: { port: 1, host: '169.254.169.254' } }
const tcp = { tcpSocket: { port: 1, host: '169.254.169.254' } }
const unconfined = { type: 'Unconfined' }
const appArmor = 'container.apparmor.security.beta.kubernetes.io/server'

describe('in a namespace with host ports the policy refuses', () => {
  test.each<[string, Change, string]>([
    ['a hostProcess container', { context: windows, spec: { hostNetwork: true } }, 'hostProcess'],
    [
      'a hostProcess pod',
      { spec: { securityContext: { ...podContext, ...windows }, hostNetwork: true } },
      'hostProcess',
    ],
    ['the network of the host', { spec: { hostNetwork: true } }, 'hostNetwork'],
    ['the processes of the host', { spec: { hostPID: true } }, 'hostPID'],
    ['the IPC of the host', { spec: { hostIPC: true } }, 'hostIPC'],
    ['a privileged container', { context: { privileged: true, allowPrivilegeEscalation: true } }, 'privileged'],
    ['a container that keeps capabilities', { context: { capabilities: { drop: ['NET_RAW'] } } }, 'drop ALL'],
    ['a container without capabilities', { context: { capabilities: undefined } }, 'drop ALL'],
    ['another capability', { context: { capabilities: { drop: ['ALL'], add: ['CHOWN'] } } }, 'NET_BIND_SERVICE'],
    ['a path of the host', { spec: { volumes: [{ name: 'a', hostPath: { path: '/' } }] } }, 'a volume must be'],
    ['a share', { spec: { volumes: [{ name: 'a', nfs: { server: 'a', path: '/' } }] } }, 'a volume must be'],
    ['the AppArmor profile of a container', { context: { appArmorProfile: unconfined } }, 'AppArmor'],
    ['the AppArmor profile of a pod', withPodContext({ appArmorProfile: unconfined }), 'AppArmor'],
    ['an AppArmor annotation', { metadata: { annotations: { [appArmor]: 'unconfined' } } }, 'AppArmor'],
    ['the SELinux type of a container', { context: spc }, 'seLinuxOptions'],
    ['the SELinux type of a pod', withPodContext(spc), 'seLinuxOptions'],
    ['a SELinux user', { context: { seLinuxOptions: { user: 'root' } } }, 'seLinuxOptions'],
    ['a SELinux role', withPodContext({ seLinuxOptions: { role: 'sysadm_r' } }), 'seLinuxOptions'],
    ['the seccomp profile of a container', { context: { seccompProfile: unconfined } }, 'seccompProfile'],
    ['the seccomp profile of a pod', withPodContext({ seccompProfile: unconfined }), 'seccompProfile'],
    ['no seccomp profile', withPodContext({ seccompProfile: undefined }), 'seccompProfile'],
    ['an unsafe sysctl', withPodContext({ sysctls: [{ name: 'kernel.msgmax', value: '1' }] }), 'sysctls'],
    ['privilege escalation', { context: { allowPrivilegeEscalation: true } }, 'allowPrivilegeEscalation'],
    ['the default of privilege escalation', { context: { allowPrivilegeEscalation: undefined } }, 'allowPrivilegeEsc'],
    ['a container that may be root', { context: { runAsNonRoot: false } }, 'runAsNonRoot'],
    [
      'a pod that may be root',
      { ...withPodContext({ runAsNonRoot: false }), context: { runAsNonRoot: true } },
      'runAsNon',
    ],
    ['no runAsNonRoot', withPodContext({ runAsNonRoot: undefined }), 'runAsNonRoot'],
    ['a root container', { context: { runAsUser: 0 } }, 'runAsUser'],
    ['a root pod', withPodContext({ runAsUser: 0 }), 'runAsUser'],
    ['the host of a liveness probe', { container: { livenessProbe: http } }, 'the host of a probe'],
    ['the host of a readiness probe', { container: { readinessProbe: tcp } }, 'the host of a probe'],
    ['the host of a startup probe', { container: { startupProbe: http } }, 'the host of a probe'],
    ['the host of a hook at the start', { container: { lifecycle: { postStart: http } } }, 'lifecycle hook'],
    ['the host of a hook at the stop', { container: { lifecycle: { preStop: tcp } } }, 'lifecycle hook'],
    ['a host port below the range', withPort({ hostPort: 6_999 }), 'hostPort must be'],
    ['a host port above the range', withPort({ hostPort: 8_001 }), 'hostPort must be'],
    ['a host port between the ranges', withPort({ hostPort: 27_014 }), 'hostPort must be'],
    ['a host port of one address', withPort({ hostPort: 7_000, hostIP: '127.0.0.1' }), 'hostIP is not allowed'],
    [
      'a host port of an init container',
      { spec: { initContainers: [{ ...aContainer(withPort({ hostPort: 22 })), name: 'init' }] } },
      'hostPort must be',
    ],
    [
      'a privileged init container',
      { spec: { initContainers: [{ ...aContainer({ context: { runAsUser: 0 } }), name: 'init' }] } },
      'runAsUser',
    ],
  ])('%s', async (_, change, fragment) => {
    const refusal = await refusalOf(change)
    expect(refusal).toContain("ValidatingAdmissionPolicy 'orrery-host-ports'")
    expect(refusal).toContain(fragment)
  })

  test('an unmasked proc', async () => {
    if (!hasProcMount) return
    const refusal = await refusalOf({ context: { procMount: 'Unmasked' }, spec: { hostUsers: false } })
    expect(refusal).toContain('securityContext.procMount must be Default')
  })

  test('an ephemeral container that may be root, and another image of a pod that is no longer allowed', async () => {
    const { metadata } = await cluster.pods.create(aPod())
    const debug = (context: object) =>
      cluster.transport.request({
        method: 'PATCH',
        path: `/api/v1/namespaces/${labelled}/pods/${metadata.name}/ephemeralcontainers?dryRun=All`,
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { ephemeralContainers: [{ ...aContainer({ context }), name: 'debug' }] } },
      })
    await expect(debug({ runAsUser: 0 })).rejects.toThrow('runAsUser must not be 0')
    await expect(debug({})).resolves.toBeDefined()
    await cluster.pods.delete(metadata, { gracePeriodSeconds: 0 })
  })
})

describe('in a namespace with host ports the policy admits', () => {
  test.each<[string, Change]>([
    ['a pod without ports', {}],
    ['the first port of a range', withPort({ hostPort: 7_000 })],
    ['the last port of a range', withPort({ hostPort: 8_000, protocol: 'UDP' })],
    ['a single port', withPort({ hostPort: 27_015 })],
    [
      'a container that sets what the pod leaves out',
      { ...withPodContext({ runAsNonRoot: undefined }), context: { runAsNonRoot: true } },
    ],
    ['a probe without a host', { container: { readinessProbe: { httpGet: { port: 1, path: '/' } } } }],
    ['a safe sysctl', withPodContext({ sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] })],
    ['a volume in memory', { spec: { volumes: [{ name: 'a', emptyDir: {} }, { name: 'b' }] } }],
    ['a user', { context: { runAsUser: 1_000, capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] } } }],
  ])('%s', async (_, change) => {
    expect(await refusalOf(change)).toBe('')
  })

  test('the labels of a pod whose host port is no longer one of the platform, and its deletion', async () => {
    const { metadata } = await cluster.pods.create(aPod(withPort({ hostPort: 27_015 })))
    const kubectl = (...args: string[]) => cluster.kubectl('-n', labelled, ...args)
    cluster.kubectl('patch', ...policy, '--type=json', '-p', JSON.stringify([otherPorts]))
    try {
      await eventually('the port is no longer allowed', async () =>
        (await refusalOf(withPort({ hostPort: 27_015 }))).includes('hostPort must be'),
      )
      kubectl('label', 'pod', metadata.name, 'example.com/moved=yes')
      expect(() => kubectl('set', 'image', `pod/${metadata.name}`, 'server=other')).toThrow('hostPort must be')
      kubectl('delete', 'pod', metadata.name, '--now')
    } finally {
      await install()
    }
  })
})

const otherPorts = { op: 'replace', path: '/spec/variables/0/expression', value: 'dyn([[7000, 8000]])' }

const namespaceOf = ({ scope }: Tenant) => `orrery-${scope.organizationId}`
const limit = ({ rest, scope }: Tenant, limits: object) =>
  rest.call<object>('PATCH', `/api/organizations/${scope.organizationId}/limits/`, limits)
const labelsOf = (name: string): Record<string, string> => {
  type Live = { metadata: { labels: Record<string, string> } }
  return (JSON.parse(cluster.kubectl('get', 'namespace', name, '-o', 'json')) as Live).metadata.labels
}
/** Returns once the namespace of a tenant has a label of host ports and an enforced level. */
const becomes = (tenant: Tenant, hostPorts: string | undefined, level: string) =>
  eventually(`host ports ${hostPorts}, level ${level}`, async () => {
    const { 'orrery.dev/host-ports': label, [enforce]: enforced } = labelsOf(namespaceOf(tenant))
    return label === hostPorts && enforced === level
  })
const aTenantWithHostPorts = async (): Promise<Tenant> => {
  const tenant = await aTenant(api.url)
  await cluster.world(namespaceOf(tenant), await tenant.world()).exists()
  await limit(tenant, { hostPorts: true })
  await becomes(tenant, 'true', 'privileged')
  return tenant
}

describe('the namespace of an organization', () => {
  test('gets the labels with the limit, admits the pod of its world with a host port, and loses them', async () => {
    const tenant = await aTenant(api.url)
    const id = await tenant.world()
    await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    const { spec } = (await cluster.pod(namespaceOf(tenant), id).exists()) as { spec?: { containers: object[] } }
    expect(labelsOf(namespaceOf(tenant))).not.toHaveProperty('orrery.dev/host-ports')
    const ports = [{ containerPort: 7_777, hostPort: 7_000, protocol: 'UDP' }]
    const containers = spec?.containers.map((each) => ({ ...each, ports }))
    const pod = aPod({ spec: { ...spec, containers } }, namespaceOf(tenant))
    await expect(dryRun(pod)).rejects.toThrow('violates PodSecurity')

    expect(await limit(tenant, { hostPorts: true })).toMatchObject({ status: 200, body: { hostPorts: true } })
    await becomes(tenant, 'true', 'privileged')
    expect(labelsOf(namespaceOf(tenant))).toMatchObject({
      'pod-security.kubernetes.io/audit': 'restricted',
      'pod-security.kubernetes.io/warn': 'restricted',
    })
    await eventually('the pod is admitted', async () => dryRun(pod).then(() => true))
    const usage = await tenant.rest.call<object>('GET', '/api/organizations/current/usage/')
    expect(usage.body).toMatchObject({ hostPorts: { limit: true } })

    await limit(tenant, { hostPorts: false })
    await becomes(tenant, undefined, 'restricted')
    expect(Object.keys(labelsOf(namespaceOf(tenant))).filter((key) => /audit|warn/.test(key))).toEqual([])
    await expect(dryRun(pod)).rejects.toThrow('violates PodSecurity')
  })

  test.each([
    ['the policy is deleted', () => cluster.kubectl('delete', ...policy)],
    ['the binding is deleted', () => cluster.kubectl('delete', ...binding)],
    ['the policy fails open', () => change(policy, { failurePolicy: 'Ignore' })],
    [
      'the policy matches fewer pods',
      () => change(policy, { matchConstraints: { objectSelector: { matchLabels: { a: 'b' } } } }),
    ],
    ['the binding only warns', () => change(binding, { validationActions: ['Audit'] })],
    [
      'the binding leaves pods out',
      () => change(binding, { matchResources: { objectSelector: { matchLabels: { a: 'b' } } } }),
    ],
  ])('is restricted once %s, and privileged again once it is restored', async (_, break_) => {
    const tenant = await aTenantWithHostPorts()
    try {
      break_()
      await becomes(tenant, 'true', 'restricted')
      const other = await aTenant(api.url)
      await limit(other, { hostPorts: true })
      await cluster.world(namespaceOf(other), await other.world()).exists()
      await becomes(other, 'true', 'restricted')
    } finally {
      // An apply keeps what another manager added.
      for (const each of [policy, binding]) cluster.kubectl('delete', ...each, '--ignore-not-found')
      await install()
    }
    await becomes(tenant, 'true', 'privileged')
    const warnings = logLines(api.logFile).map(({ msg }) => String(msg))
    expect(warnings.some((line) => line.startsWith('namespaces get no host ports: the admission policy'))).toBe(true)
  })

  test('keeps its labels of security when anyone but the API changes them', async () => {
    const tenant = await aTenantWithHostPorts()
    const label = (user: 'eve' | 'orrery-operator', ...changes: string[]) =>
      kubectlAs(user, 'label', '--overwrite', 'namespace', namespaceOf(tenant), ...changes)
    const refusal = 'Only the API writes the label orrery.dev/host-ports'
    for (const changes of [
      ['orrery.dev/host-ports-'],
      ['orrery.dev/host-ports=false'],
      [`${enforce}-`],
      [`${enforce}=baseline`],
      ['pod-security.kubernetes.io/enforce-version=latest'],
      ['orrery.dev/host-ports-', `${enforce}=restricted`],
    ]) {
      expect([changes, label('eve', ...changes)]).toEqual([changes, expect.stringContaining(refusal)])
    }
    const patch = JSON.stringify({ metadata: { labels: { 'orrery.dev/host-ports': null } } })
    const ofStatus = ['patch', 'namespace', namespaceOf(tenant), '--subresource=status', '--type=merge', '-p', patch]
    expect(kubectlAs('eve', ...ofStatus)).toContain(refusal)
    expect(label('eve', 'example.com/team=mine')).toContain('labeled')
    const without = await aTenant(api.url)
    await cluster.world(namespaceOf(without), await without.world()).exists()
    expect(kubectlAs('eve', 'label', 'namespace', namespaceOf(without), 'orrery.dev/host-ports=true')).toContain(
      refusal,
    )
  })

  test('cannot become privileged through the API without the label of host ports', async () => {
    const tenant = await aTenant(api.url)
    await cluster.world(namespaceOf(tenant), await tenant.world()).exists()
    const label = (...changes: string[]) =>
      kubectlAs('orrery-api', 'label', '--overwrite', 'namespace', namespaceOf(tenant), ...changes)
    const refusal = 'Pod Security level restricted, or privileged with the label'
    expect(label(`${enforce}=privileged`)).toContain(refusal)
    expect(label(`${enforce}=baseline`, 'orrery.dev/host-ports=true')).toContain(refusal)
    expect(label(`${enforce}=privileged`, 'orrery.dev/host-ports=yes')).toContain(refusal)
    expect(label(`${enforce}-`)).toContain(refusal)
    const both = await aTenantWithHostPorts()
    expect(kubectlAs('orrery-api', 'label', 'namespace', namespaceOf(both), 'orrery.dev/host-ports-')).toContain(
      refusal,
    )
  })
})

const change = (object: readonly [string, string], spec: object) =>
  cluster.kubectl('patch', ...object, '--type=merge', '-p', JSON.stringify({ spec }))
