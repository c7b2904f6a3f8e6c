import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { apiSettings, readApiConfig, readMigrationConfig } from '#api/config.ts'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { operatorSettings, readOperatorConfig } from '#operator/config.ts'
import { variablesOf } from '#shared/environment.ts'
import { toCelIntervals } from '#shared/resources/hostPortPolicy.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import { prepareCluster } from '#test/support/chart.ts'
import { getServers } from '#test/support/servers.ts'

const chart = fileURLToPath(new URL('../../charts/orrery', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'orrery-chart-'))
const namespace = 'chart-restricted'

type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef?: { name: string; key: string } } }
type Container = { name: string; env: Variable[] }
type PodSpec = { initContainers?: Container[]; containers: Container[] }
type Manifest = {
  apiVersion: string
  kind: string
  metadata: { name: string; namespace?: string; labels?: Record<string, string>; annotations?: Record<string, string> }
  spec?: { template?: { metadata: object; spec: PodSpec } } & Record<string, unknown>
  [key: string]: unknown
}

let helm: string
const run = (command: string, args: string[], input = ''): string =>
  execFileSync(command, args, { encoding: 'utf8', input, timeout: 120_000, stdio: ['pipe', 'pipe', 'pipe'] })
const kubectl = (args: string[], input?: string): string =>
  run(getServers().kubectl, ['--kubeconfig', getServers().adminKubeconfig, ...args], input)

const render = (values: object): Manifest[] => {
  const file = join(dir, 'values.yaml')
  writeFileSync(file, stringify(values))
  return parseAllDocuments(run(helm, ['template', 'orrery', chart, '--namespace', namespace, '--values', file]))
    .map((document) => document.toJS() as Manifest | null)
    .filter((manifest) => manifest !== null)
}
/** The error of Helm for values that the chart refuses. */
const refusal = (values: object): string => {
  try {
    render(values)
  } catch (error) {
    return (error as { stderr: string }).stderr
  }
  return 'The chart took these values.'
}
const find = (manifests: Manifest[], kind: string, name: string): Manifest => {
  const manifest = manifests.find((each) => each.kind === kind && each.metadata.name === name)
  if (manifest === undefined) throw new Error(`The chart has no ${kind} ${name}.`)
  return manifest
}
const environmentOf = (manifests: Manifest[], process: 'api' | 'operator'): Variable[] =>
  find(manifests, 'Deployment', `orrery-${process}`).spec?.template?.spec.containers[0]?.env ?? []
const migrationEnvironmentOf = (manifests: Manifest[]): Variable[] =>
  find(manifests, 'Deployment', 'orrery-api').spec?.template?.spec.initContainers?.[0]?.env ?? []

const namespaceNamed = (name: string): string => stringify({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
/** kubectl reads YAML 1.1, in which a bare `off` is a boolean. */
const documents = (manifests: object[]): string =>
  manifests.map((each) => stringify(each, { version: '1.1' })).join('---\n')

beforeAll(async () => {
  helm = await obtainGoProgram('helm', {
    env: process.env,
    progress: (line) => void process.stderr.write(`[chart] ${line}\n`),
  })
  const space = {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } },
  }
  await prepareCluster([space])
}, 600_000)

const existing = (key: string) => ({ existingSecret: 'own', key })
const production = {
  publicUrl: 'https://api.example.com',
  image: { repository: 'registry.example.com/orrery', digest: `sha256:${'a'.repeat(64)}` },
  imagePullSecrets: [{ name: 'pull' }],
  api: {
    replicas: 3,
    autoscaling: { enabled: true, targetSockets: 5_000 },
    priorityClassName: 'system-cluster-critical',
    settings: {
      auditRetentionDays: 30,
      limitMaxDocumentBytes: 2_147_483_648,
      allowedOrigins: ['https://play.example.com', 'https://b.example.com'],
      trustedProxies: '10.0.0.0/8',
    },
    jwtIssuers: [],
    clusters: [{ name: 'eu', places: [{ group: 'production', region: 'Europe' }] }],
    extraEnv: [{ name: 'HTTPS_PROXY', value: 'http://proxy:3128' }],
    tolerations: [{ key: 'x', operator: 'Exists' }],
    nodeSelector: { pool: 'system' },
    podLabels: { team: 'worlds' },
  },
  operator: {
    settings: { cpuRequestRatio: 0.5, restartBudget: 5 },
    scalingProfiles: { Capacity30: { memoryLimit: '6Gi', cpuLimit: '2' } },
    placement: [{ group: 'production', nodeLabels: { pool: 'worlds' } }],
    worldNamespaces: [namespace],
  },
  keys: { platformKey: existing('platform'), pepper: existing('pepper'), encryptionKeys: existing('encryption') },
  database: { mode: 'external', external: existing('url'), owner: existing('owner') },
  objectStore: {
    type: 's3',
    s3: { bucket: 'orrery', region: 'eu-central-1', endpoint: 'https://s3.example.com', existingSecret: 's3' },
  },
  ingress: { enabled: true, className: 'nginx', tlsSecret: 'api-tls', annotations: { 'cert-manager.io/issuer': 'x' } },
  flowControl: { tenants: { enabled: true, groups: ['tenants', 'ci'] } },
  commonLabels: { env: 'prod' },
  commonAnnotations: { owner: 'platform' },
}
type Labels = Record<string, string>

/** The labels of a server and a bot that decide which selectors match them. */
const tenantPods: Labels[] = [podSelectors.serverOf('lobby', 'run-1'), podSelectors.bots]

/** The kinds of the chart whose objects select pods. */
const selectingKinds = ['Service', 'Deployment', 'StatefulSet', 'PodDisruptionBudget', 'NetworkPolicy']

/** Returns the selectors of pods in a spec: those of a Service, a workload, a policy, a budget and of spread constraints. */
const selectorsIn = (spec: object): object[] =>
  Object.entries(spec).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value !== 'object' || value === null || key === 'volumeClaimTemplates') return []
    return /^(selector|podSelector|labelSelector)$/.test(key) ? [value] : selectorsIn(value)
  })
const matches = (selector: unknown, labels: Labels): boolean => {
  const { matchLabels = selector } = selector as { matchLabels?: unknown }
  return Object.entries(matchLabels as Labels).every(([key, value]) => labels[key] === value)
}
const labelsOf = (template: { metadata: object }): Labels => (template.metadata as { labels?: Labels }).labels ?? {}
const examples = new URL('../../examples/', import.meta.url)
const example = (name: string): object => parse(readFileSync(new URL(`helm/${name}.yaml`, examples), 'utf8'))

/** Values with an issuer at which people sign in, and the Secret of its client. */
const withSignIn = (secret: object) => {
  const jwksUrl = 'https://id.example.com/jwks'
  const signIn = { name: 'Example', clientId: 'console', ...secret }
  const issuer = { issuer: 'https://id.example.com', audience: 'orrery', jwksUrl, organizations: ['*'], signIn }
  return { jwtIssuers: [issuer], signInSecret: 'own-sign-in' }
}
const cases: [string, object][] = [
  ['the defaults', {}],
  ...(['trial', 'production', 'two-regions', 'two-clusters', 'second-cluster'] as const).map(
    (name): [string, object] => [`the example ${name}`, example(name)],
  ),
  ['production', production],
  ['CloudNativePG', { database: { mode: 'cnpg', cnpg: { storageClassName: 'fast', spec: { imageName: 'x' } } } }],
  ['the Gateway API', { publicUrl: 'https://a.example', httpRoute: { enabled: true, parentRefs: [{ name: 'web' }] } }],
  [
    'a sign-in',
    { publicUrl: 'https://a.example', api: withSignIn({ clientSecretFile: '/etc/orrery/sign-in/example' }) },
  ],
  ['TLS of the API', { publicUrl: 'https://a.example', api: { tls: { existingSecret: 'tls' } } }],
  ['a load balancer', { publicUrl: 'https://a.example', api: { service: { type: 'LoadBalancer', port: 443 } } }],
  [
    'a shared file store',
    { api: { replicas: 3 }, objectStore: { file: { persistence: { accessModes: ['ReadWriteMany'] } } } },
  ],
  [
    'no volumes, no policies and another name',
    {
      nameOverride: 'worlds',
      crds: { install: false },
      admissionPolicies: { enabled: false },
      flowControl: { enabled: false },
      networkPolicy: { enabled: false },
      database: { trial: { persistence: { enabled: false } } },
      objectStore: { file: { persistence: { enabled: false } } },
      operator: { replicas: 1 },
    },
  ],
  [
    'metrics',
    {
      metrics: {
        serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
        prometheusRule: { enabled: true },
        dashboards: { enabled: true },
      },
    },
  ],
  ['closed egress', { networkPolicy: { egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] }] } }],
  ['rotation of keys', { keys: { platformKeyPrevious: existing('previous'), pepperPrevious: existing('previous') } }],
  [
    'further objects',
    { extraObjects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '{{ .Release.Name }}-x' } }] },
  ],
]

test('helm lint reports no problem', () => {
  expect(run(helm, ['lint', '--strict', chart])).toContain('0 chart(s) failed')
})

describe.each(cases)('with %s', (_, values) => {
  test('the API server accepts every object', () => {
    const said = kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], documents(render(values)))
    expect(said).toContain('deployment.apps/')
  })

  test('each selector of pods selects those of the process that its object is for, and no server or bot', () => {
    const manifests = render(values)
    const podsOf = (text: unknown) =>
      manifests.filter(({ spec }) => spec?.template && matches(text, labelsOf(spec.template)))
    const found = manifests
      .filter(({ kind }) => selectingKinds.includes(kind))
      .flatMap(({ kind, metadata, spec }) =>
        selectorsIn(kind === 'NetworkPolicy' ? { podSelector: spec?.podSelector } : (spec ?? {})).map((selector) => ({
          of: `${kind} ${metadata.name}`,
          own: metadata.labels?.['app.kubernetes.io/name'],
          pods: podsOf(selector).map(({ metadata: { labels } }) => labels?.['app.kubernetes.io/name']),
          tenants: tenantPods.filter((labels) => matches(selector, labels)),
        })),
      )
    expect(found.length).toBeGreaterThan(5)
    for (const { of, own, pods, tenants } of found) expect([of, pods, tenants]).toEqual([of, [own], []])
    for (const process of ['api', 'operator'] as const) {
      const named = podsOf({ matchLabels: podSelectors.process(process) })
      expect(named.map(({ metadata }) => metadata.labels?.['app.kubernetes.io/name'])).toEqual([`orrery-${process}`])
    }
    for (const tenant of [podSelectors.servers, podSelectors.bots]) expect(podsOf({ matchLabels: tenant })).toEqual([])
  })

  test('every pod passes Pod Security restricted', () => {
    const pods = render(values).flatMap(({ kind, metadata, spec }) => {
      const pod = kind === 'Pod' ? spec : spec?.template?.spec
      const name = `pod-${metadata.name}`
      // A server alone makes no service accounts, and has no priority classes of users.
      return pod ? [{ apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace }, spec: pod }] : []
    })
    expect(pods.length).toBeGreaterThanOrEqual(3)
    kubectl(['create', '--dry-run=server', '-f', '-'], documents(pods))
  })
})

test.each(['argocd', 'flux'])('the API server accepts the manifests of %s', (tool) => {
  const manifests = readFileSync(new URL(`gitops/${tool}.yaml`, examples), 'utf8')
  for (const name of ['argocd', 'flux-system']) kubectl(['apply', '-f', '-'], namespaceNamed(name))
  expect(kubectl(['apply', '--dry-run=server', '--validate=strict', '-f', '-'], manifests)).toContain('/orrery ')
})

test('both processes have a priority level, and tenants only if it is asked for', () => {
  const flowsOf = (values: object) =>
    render(values).flatMap(({ kind, metadata }) => (/^(FlowSchema|Priority)/.test(kind) ? [metadata.name] : []))
  expect(flowsOf({})).toEqual(['orrery', 'orrery'])
  expect(flowsOf(production).sort()).toEqual(['orrery', 'orrery', 'orrery-tenants', 'orrery-tenants'])
  expect(flowsOf({ flowControl: { enabled: false } })).toEqual([])
})

test('all objects bear the common labels and annotations', () => {
  for (const { kind, metadata } of render(production)) {
    expect.soft(metadata.labels, `${kind} ${metadata.name}`).toMatchObject({ env: 'prod' })
    expect.soft(metadata.annotations, `${kind} ${metadata.name}`).toMatchObject({ owner: 'platform' })
  }
})

const secrets: Record<string, string> = {
  url: 'postgres://orrery:secret@db:5432/orrery',
  'api-url': 'postgres://orrery_api:secret@db:5432/orrery',
  owner: 'postgres://owner:secret@db:5432/orrery',
  uri: 'postgres://orrery:secret@db:5432/orrery',
  AWS_ACCESS_KEY_ID: 'id',
  AWS_SECRET_ACCESS_KEY: 'secret',
}
const files: Record<string, string> = {
  platformKey: 'xK4mQ9vT2bN7wR5cZ8fH3jL6pS1dG0aY',
  pepper: 'uJ3nW8eB5qM2xT7rV4kC9zD6hF1gP0sL',
  encryptionKeys: `k1:${Buffer.alloc(32, 7).toString('base64')}`,
  logs: 'tR8kW3nB6qX1zV5mJ9cF2hD7gP4sL0aYuE',
}
/** The environment of a container as the kubelet makes it. */
const environment = (variables: Variable[]): NodeJS.ProcessEnv =>
  Object.fromEntries(
    variables.map(({ name, value, valueFrom }) => {
      if (valueFrom !== undefined) return [name, secrets[valueFrom.secretKeyRef?.key ?? ''] ?? 'uid']
      const [, key, config] = /^\/etc\/orrery\/(?:keys\/(\w+)|config\/([\w.-]+))$/.exec(value ?? '') ?? []
      const content = key === undefined ? configuration?.[config ?? ''] : files[key]
      if (content === undefined) return [name, value]
      const file = join(dir, key ?? config ?? '')
      writeFileSync(file, content)
      return [name, file]
    }),
  )
let configuration: Record<string, string> | undefined

/** The configurations that both processes read from the manifests. */
const configsOf = (manifests: Manifest[]) => {
  configuration = find(manifests, 'ConfigMap', 'orrery-api').data as Record<string, string>
  const api = readApiConfig(environment(environmentOf(manifests, 'api')))
  const operator = readOperatorConfig(environment(environmentOf(manifests, 'operator')))
  return { api, operator }
}

test.each([
  ['the defaults', {}],
  ['production', production],
])('both processes accept the environment of %s', (title, values) => {
  const manifests = render(values)
  const { api, operator } = configsOf(manifests)
  expect(operator.lease).toMatchObject({ namespace, name: 'orrery-operator' })
  expect(api.clusterUsers).toEqual({
    api: `system:serviceaccount:${namespace}:orrery-api`,
    operator: `system:serviceaccount:${namespace}:orrery-operator`,
  })
  // The operator takes the tickets that the API signs.
  expect(operator.logs?.audience).toBe(api.clusters[0].logs?.audience)
  expect(operator.logs?.keys).toEqual([api.clusters[0].logs?.key])
  if (title === 'the defaults') return
  expect(api.limits.maxDocumentBytes).toBe(2_147_483_648)
  expect(api.allowedOrigins).toEqual(['https://play.example.com', 'https://b.example.com'])
  expect(api.clusters[0].name).toBe('eu')
  expect(api.objectStoreUrl).toBe('s3://orrery?endpoint=https%3A%2F%2Fs3.example.com&region=eu-central-1')
  expect(operator.world).toMatchObject({ cpuRequestRatio: 0.5, restartBudget: 5 })
})

test('host ports are the same for both processes and in the admission policy', () => {
  const hostPorts = { voice: '9000-9100', static: '27015,27020-27030' }
  const manifests = render({ hostPorts })
  const { api, operator } = configsOf(manifests)
  expect(operator.world.hostPorts).toEqual(api.hostPorts)
  expect([...api.hostPorts.keys()].sort()).toEqual(['default', 'static', 'voice'])
  const { spec } = find(manifests, 'ValidatingAdmissionPolicy', 'orrery-host-ports')
  const variables = spec?.variables as { name: string; expression: string }[]
  // `orrery doctor` compares the policy with this text.
  const expression = `dyn(${toCelIntervals(api.hostPorts)})`
  expect(variables[0]).toEqual({ name: 'hostPorts', expression })
  expect(expression).toBe('dyn([[7000, 8000], [27015, 27015], [27020, 27030], [9000, 9100]])')
})

test('both processes know the Gateway of worlds with the strategy Route, or neither', () => {
  const configs = (values: object) => {
    const { api, operator } = configsOf(render(values))
    return [api.offersRoutes, operator.world.route]
  }
  expect(configs({})).toEqual([false, undefined])
  const route = { gateway: 'gateways/players/wss', url: 'wss://*.worlds.example.com:8443' }
  expect(configs({ route })).toEqual([
    true,
    {
      gateway: { namespace: 'gateways', name: 'players', listener: 'wss' },
      url: { scheme: 'wss', domain: 'worlds.example.com', port: 8443 },
    },
  ])
})

test('the API serves the console unless a value turns it off', () => {
  const setting = (values: object) => configsOf(render(values)).api.isConsoleOn
  expect([setting({}), setting({ console: { enabled: false } })]).toEqual([true, false])
})

test.each([
  ['trial', {}],
  ['external', production],
  ['cnpg', { database: { mode: 'cnpg' } }],
])('only the migrations know the owner of the database %s, and the API has another role', (_, values) => {
  const manifests = render(values)
  const secretOf = (variables: Variable[], name: string) =>
    variables.find((each) => each.name === name)?.valueFrom?.secretKeyRef
  const migration = migrationEnvironmentOf(manifests)
  const [api, owner] = ['ORRERY_DATABASE_URL', 'ORRERY_DATABASE_OWNER_URL'] as const
  expect(secretOf(migration, owner)).toBeDefined()
  expect(secretOf(migration, api)).toBeDefined()
  expect(secretOf(migration, owner)).not.toEqual(secretOf(migration, api))
  const running = environmentOf(manifests, 'api')
  expect(secretOf(running, api)).toEqual(secretOf(migration, api))
  expect(JSON.stringify(running)).not.toContain(JSON.stringify(secretOf(migration, owner)))
  const config = readMigrationConfig(environment(migration))
  expect(config.auditRetentionDays).toBe(values === production ? 30 : 365)
})

test('CloudNativePG keeps the roles and the bootstrap of its values and creates the role of the API', () => {
  const roles = [{ name: 'reader', login: true }]
  const bootstrap = { recovery: { source: 'backup' } }
  const spec = { managed: { roles }, imageName: 'x', bootstrap }
  const cluster = find(render({ database: { mode: 'cnpg', cnpg: { spec } } }), 'Cluster', 'orrery-db')
  expect(cluster.spec).toMatchObject({
    imageName: 'x',
    managed: { roles: [...roles, { name: 'orrery_api', passwordSecret: { name: 'orrery-db-api' } }] },
  })
  expect(cluster.spec).toHaveProperty('bootstrap', bootstrap)
})

test('the secrets of sign-in clients are files of a Secret, and a value with one is refused', () => {
  const pod = find(render({ api: withSignIn({}) }), 'Deployment', 'orrery-api').spec?.template?.spec
  const [name, mountPath] = ['sign-in', '/etc/orrery/sign-in']
  // The parser of the test reads 0440 as a decimal number (YAML 1.2); Kubernetes reads it as octal.
  const volume = { name, secret: { secretName: 'own-sign-in', defaultMode: 440 } }
  expect(pod).toMatchObject({ volumes: expect.arrayContaining([volume]) })
  const mounts = expect.arrayContaining([{ name, mountPath, readOnly: true }])
  expect(pod?.containers).toMatchObject([{ volumeMounts: mounts }])
  expect(refusal({ api: withSignIn({ clientSecret: 'x' }) })).toContain('clientSecret')
})

test('every variable that the chart sets is one of its process', () => {
  const manifests = render(production)
  for (const [process, settings] of [
    ['api', apiSettings],
    ['operator', operatorSettings],
  ] as const) {
    const known = Object.keys(variablesOf(settings))
    const names = environmentOf(manifests, process).map(({ name }) =>
      known.includes(name) ? name : name.replace(/(?<=KEY\w*|PEPPER\w*)_FILE$/, ''),
    )
    expect(names.filter((name) => name.startsWith('ORRERY_') && !known.includes(name))).toEqual([])
  }
})

test.each([
  ['an unknown value', { replica: 2 }, "additional properties 'replica' not allowed"],
  ['an unknown setting', { api: { settings: { limitMaxWorld: 1 } } }, "additional properties 'limitMaxWorld'"],
  ['a wrong type', { api: { replicas: 'two' } }, "'/api/replicas'"],
  ['an unknown mode', { database: { mode: 'mysql' } }, "'trial', 'external', 'cnpg'"],
  [
    'a missing Secret',
    { database: { mode: 'external', owner: existing('owner') } },
    'set database.external.existingSecret',
  ],
  [
    'a missing owner',
    { database: { mode: 'external', external: existing('url') } },
    'set database.owner.existingSecret',
  ],
  [
    'one role for both',
    { database: { mode: 'external', external: existing('url'), owner: existing('url') } },
    'name the same key of the Secret own',
  ],
  ['a missing bucket', { objectStore: { type: 's3' } }, 'set objectStore.s3.bucket'],
  ['an HPA with one volume', { api: { autoscaling: { enabled: true } } }, 'set objectStore.type to s3'],
  ['a route without a Gateway', { httpRoute: { enabled: true } }, 'httpRoute.parentRefs'],
  ['a public URL with a path', { publicUrl: 'https://a.example/api' }, "'/publicUrl'"],
])('%s is refused with a sentence that names it', (_, values, sentence) => {
  expect(refusal(values)).toContain(sentence)
})
