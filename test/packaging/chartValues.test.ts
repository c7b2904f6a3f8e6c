import { beforeAll, expect, test } from 'vitest'
import { type Fields, isGroup } from '#dev/chart/fields.ts'
import { chartValues } from '#dev/chart/values.ts'
import { type Outcome, prepareReleases, type Release } from '#test/support/chart.ts'

const namespaces = ['orrery', '123', 'n'.repeat(63)]

let tryRelease: (release: Release) => Promise<Outcome>
const tryValues = (values: object, { name = 'orrery', namespace = 'orrery' } = {}) =>
  tryRelease({ name, namespace, values })

beforeAll(async () => {
  tryRelease = await prepareReleases(namespaces)
}, 600_000)

const isMap = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
/** Returns the paths of all values and groups that have a default. */
const pathsOf = (fields: Fields, above: readonly string[] = []): string[][] =>
  Object.entries(fields).flatMap(([key, entry]) => {
    const path = [...above, key]
    if (isGroup(entry)) return [path, ...pathsOf(entry.fields, path)]
    return entry.default === null ? [] : [path]
  })
const nested = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as object

test('null is refused with the name of the value, unless a value without a default has it', async () => {
  for (const path of pathsOf(chartValues)) {
    const { is, message } = await tryValues(nested(path, null))
    expect.soft([path.join('.'), is]).toEqual([path.join('.'), 'refused by the schema'])
    expect.soft(message).toContain(`'${path.at(-1)}'`)
  }
  const settings = { limitMaxWorlds: null }
  expect(await tryValues({ api: { settings, resources: { limits: null } } })).toMatchObject({ is: 'accepted' })
})

test('an empty map in place of a map has the defaults', async () => {
  const maps = Object.entries(chartValues).filter(([, entry]) => isGroup(entry) || isMap(entry.default))
  for (const [key] of maps) {
    const { is, message } = await tryValues({ [key]: {} })
    expect.soft([key, is, message]).toEqual([key, 'accepted', ''])
  }
})

const ipBlock = { cidr: '10.0.0.0/8', except: ['11.0.0.0/16'] }
const configMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } }
const source = { secret: { name: 's', items: [{ key: 'a', path: 'a' }] } }
const existing = { existingSecret: 's', key: 'k' }

test.each<[string, object, string]>([
  ['a variable of the chart', { api: { extraEnv: [{ name: 'ORRERY_LOG_LEVEL', value: 'debug' }] } }, 'api.extraEnv'],
  [
    'a variable of a setting',
    { operator: { settings: { stopGraceSeconds: 9 }, extraEnv: [{ name: 'ORRERY_STOP_GRACE_SECONDS', value: '1' }] } },
    'ORRERY_STOP_GRACE_SECONDS',
  ],
  [
    'a variable of the migrations alone',
    { api: { extraEnv: [{ name: 'ORRERY_DATABASE_OWNER_URL', value: 'x' }] } },
    'ORRERY_DATABASE_OWNER_URL',
  ],
  ['a variable twice', { operator: { extraEnv: [{ name: 'A' }, { name: 'A' }] } }, 'operator.extraEnv'],
  ['the name of a variable', { api: { extraEnv: [{ name: '1A' }] } }, '/api/extraEnv/0'],
  ['a volume of the chart', { api: { extraVolumes: [{ name: 'tmp', emptyDir: {} }] } }, 'api.extraVolumes'],
  [
    'two sources of a volume',
    { api: { extraVolumes: [{ name: 'a', emptyDir: {}, secret: { secretName: 's' } }] } },
    '/api/extraVolumes/0',
  ],
  [
    'two files of a volume',
    { api: { extraVolumes: [{ name: 'a', projected: { sources: [source, source] } }] } },
    'two files a',
  ],
  [
    'a mount without a volume',
    { api: { extraVolumeMounts: [{ name: 'a', mountPath: '/a' }] } },
    'there is no volume a',
  ],
  [
    'a mount over another',
    { operator: { extraVolumeMounts: [{ name: 'tmp', mountPath: '/tmp' }] } },
    'operator.extraVolumeMounts',
  ],
  ['a toleration', { api: { tolerations: [{ operator: 'Exists', value: 'x' }] } }, '/api/tolerations/0'],
  [
    'spread constraints',
    {
      api: {
        topologySpreadConstraints: ['a', 'a'].map((topologyKey) => ({
          topologyKey,
          maxSkew: 1,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: {},
        })),
      },
    },
    'api.topologySpreadConstraints',
  ],
  ['pull secrets', { imagePullSecrets: [{ name: 'a' }, { name: 'a' }] }, '/imagePullSecrets'],
  [
    'a label of the chart',
    { commonLabels: { 'app.kubernetes.io/instance': 'x' } },
    'commonLabels has app.kubernetes.io/instance',
  ],
  [
    'a label of the roles',
    { commonLabels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'x' } },
    'commonLabels has rbac',
  ],
  ['a label of the pods', { operator: { podLabels: { 'app.kubernetes.io/name': 'x' } } }, 'operator.podLabels has'],
  ['an annotation of Helm', { commonAnnotations: { 'helm.sh/resource-policy': 'x' } }, 'commonAnnotations has'],
  ['a long value of a label', { commonLabels: { a: 'x'.repeat(64) } }, '/commonLabels/a'],
  ['a key of an annotation', { ingress: { annotations: { 'a/b/c': 'x' } } }, '/ingress/annotations'],
  [
    'large annotations',
    { commonAnnotations: Object.fromEntries(['a', 'b', 'c', 'd'].map((key) => [key, 'x'.repeat(30_000)])) },
    'commonAnnotations has 1',
  ],
  [
    'a request above the limit',
    { operator: { resources: { requests: { memory: '2Gi' } } } },
    'operator.resources.requests.memory (2Gi) is above',
  ],
  ['a quantity', { api: { resources: { requests: { cpu: '-1' } } } }, '/api/resources/requests/cpu'],
  [
    'the size of a volume',
    { objectStore: { file: { persistence: { size: '0' } } } },
    '/objectStore/file/persistence/size',
  ],
  ['access modes', { objectStore: { file: { persistence: { accessModes: [] } } } }, 'accessModes'],
  ['a port', { api: { service: { port: 65_536 } } }, '/api/service/port'],
  ['a port in a URL', { publicUrl: 'https://a.example:65536' }, '/publicUrl'],
  ['a name of an object', { operator: { serviceAccount: { name: 'a..b' } } }, '/operator/serviceAccount/name'],
  [
    'one account for both',
    { api: { serviceAccount: { name: 'a' } }, operator: { serviceAccount: { name: 'a' } } },
    'are the same',
  ],
  ['a key of a Secret', { keys: { pepper: { key: '..' } } }, '/keys/pepper/key'],
  ['two keys of one name', { keys: { pepper: { key: 'platform-key' } } }, 'have the key platform-key'],
  ['an address as a host', { ingress: { enabled: true, host: '10.0.0.1' } }, '/ingress/host'],
  [
    'an address of the public URL as a host',
    { publicUrl: 'https://10.0.0.1', ingress: { enabled: true } },
    'Set ingress.host',
  ],
  [
    'two classes',
    { ingress: { enabled: true, className: 'a', annotations: { 'kubernetes.io/ingress.class': 'a' } } },
    'ingress.className',
  ],
  [
    'a block of addresses',
    { networkPolicy: { metricsFrom: [{ ipBlock: { cidr: '10.0.0.0/33' } }] } },
    '/networkPolicy/metricsFrom/0',
  ],
  [
    'a block of addresses with bits after its prefix',
    { networkPolicy: { metricsFrom: [{ ipBlock: { cidr: '10.1.0.0/8' } }] } },
    'networkPolicy.metricsFrom: 10.1.0.0/8 has bits',
  ],
  [
    'an IPv6 block with bits after its prefix',
    { networkPolicy: { metricsFrom: [{ ipBlock: { cidr: 'fd00:1::/31' } }] } },
    'networkPolicy.metricsFrom: fd00:1::/31 has bits',
  ],
  [
    'an exception outside its block',
    { networkPolicy: { egress: [{ to: [{ ipBlock }] }] } },
    'the exception 11.0.0.0/16',
  ],
  [
    'a range of ports',
    { networkPolicy: { egress: [{ ports: [{ port: 9, endPort: 8 }] }] } },
    'networkPolicy.egress: endPort 8',
  ],
  ['no group', { flowControl: { tenants: { enabled: true, groups: [] } } }, '/flowControl/tenants/groups'],
  ['a quote in a group', { admissionPolicies: { restoreGroups: ["a'"] } }, '/admissionPolicies/restoreGroups/0'],
  ['a namespace twice', { operator: { worldNamespaces: ['123', '123'] } }, '/operator/worldNamespaces'],
  [
    'two own clusters',
    { api: { clusters: ['a', 'b'].map((name) => ({ name, places: [] })) } },
    'a and b have no kubeconfig',
  ],
  ['a field of a cluster', { api: { clusters: [{ name: 'a' }] } }, '/api/clusters/0'],
  ['a name of host ports', { hostPorts: { Default: '7000-8000' } }, 'Default'],
  ['host ports that are a number', { hostPorts: { static: 27_015 } }, '/hostPorts/static'],
  ['host ports with a space', { hostPorts: { default: '7000-8000, 9000' } }, '/hostPorts/default'],
  ['a host port that is no port', { hostPorts: { default: '7000-65536' } }, '/hostPorts/default'],
  ['an expression in place of host ports', { hostPorts: { default: '7000]]' } }, '/hostPorts/default'],
  ['a Gateway without a namespace', { route: { gateway: 'players' } }, '/route/gateway'],
  ['a Gateway with a slash too many', { route: { gateway: 'gateways/players/wss/443' } }, '/route/gateway'],
  ['a URL of worlds without *', { route: { url: 'wss://worlds.example.com' } }, '/route/url'],
  ['a URL of worlds with https', { route: { url: 'https://*.worlds.example.com' } }, '/route/url'],
  ['a URL of worlds with a path', { route: { url: 'wss://*.worlds.example.com/' } }, '/route/url'],
  ['a URL of worlds without a port', { route: { url: 'wss://*.worlds.example.com:0' } }, '/route/url'],
  [
    'a Gateway without a URL',
    { route: { gateway: 'gateways/players' } },
    'route.gateway and route.url need each other',
  ],
  ['a URL without a Gateway', { route: { url: 'ws://*.localhost' } }, 'route.gateway and route.url need each other'],
  ['an unknown profile', { operator: { scalingProfiles: { Capacity31: {} } } }, 'Capacity31'],
  [
    'a field of the Cluster that the chart sets',
    { database: { mode: 'cnpg', cnpg: { spec: { instances: 1 } } } },
    'use database.cnpg.instances',
  ],
  ['a path over another', { database: { trial: { dataPath: '/tmp' } } }, 'database.trial.dataPath'],
  [
    'a Gateway twice',
    { httpRoute: { enabled: true, parentRefs: [{ name: 'a' }, { name: 'a' }] } },
    '/httpRoute/parentRefs',
  ],
  ['an object twice', { extraObjects: [configMap, configMap] }, 'extraObjects has v1 ConfigMap'],
  ['a name with a dot', { nameOverride: 'a.b' }, '/nameOverride'],
])('%s is refused with its path', async (_, values, sentence) => {
  const { is, message } = await tryValues(values)
  expect([is, message]).toEqual([expect.stringMatching(/^refused/), expect.stringContaining(sentence)])
})

test.each(['1', 'my.release'])(
  'the release name %s is refused with the remedy, and accepted with another name',
  async (name) => {
    const { is, message } = await tryValues({}, { name })
    expect([is, message]).toEqual(['refused by a rule', expect.stringContaining('Set nameOverride')])
    expect(await tryValues({ nameOverride: 'r' }, { name })).toMatchObject({ is: 'accepted' })
  },
)

test.each<[string, object]>([
  [
    'texts that YAML reads as something else',
    {
      namespacePrefix: 'null',
      nameOverride: 'true',
      api: { priorityClassName: '1e3', serviceAccount: { name: '0x1' } },
      ingress: { enabled: true, className: '1', host: 'a.b', tlsSecret: 'null' },
      keys: { pepper: { ...existing, existingSecret: '12' } },
      database: {
        mode: 'external',
        external: { existingSecret: '1', key: '1' },
        owner: { existingSecret: 'true', key: 'no' },
      },
    },
  ],
  [
    'a value in two places',
    {
      commonLabels: { a: '1', release: 'x' },
      commonAnnotations: { a: '1' },
      api: { serviceAccount: { annotations: { a: '2' } }, service: { annotations: { a: '2' } } },
      metrics: { serviceMonitor: { enabled: true, labels: { release: 'y' } } },
    },
  ],
  [
    'blocks of addresses',
    {
      networkPolicy: {
        metricsFrom: ['::/0', 'fd00::/8', '2001:db8:0:100::/56', '1:2:3:4:5:6:7:8/128', '0.0.0.0/0', '10.1.2.3/32'].map(
          (cidr) => ({
            ipBlock: { cidr },
          }),
        ),
        egress: [
          { to: [{ ipBlock: { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '10.2.3.4/31'] } }] },
          { to: [{ ipBlock: { cidr: '::/0', except: ['fd00::/8', '2001:db8::1/128'] } }] },
        ],
      },
    },
  ],
  [
    'what a pod says of itself, in variables and files',
    {
      api: {
        extraEnv: [
          { name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app.kubernetes.io/name']" } } },
          { name: 'B', valueFrom: { resourceFieldRef: { resource: 'limits.memory', divisor: '1Mi' } } },
        ],
        extraVolumes: [
          { name: 'a', downwardAPI: { items: [{ path: '.labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
          {
            name: 'b',
            projected: {
              sources: [{ downwardAPI: { items: [{ path: 'ns', fieldRef: { fieldPath: 'metadata.namespace' } }] } }],
            },
          },
        ],
      },
    },
  ],
  [
    'where pods run',
    {
      operator: {
        tolerations: [{ operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 }],
        topologySpreadConstraints: [
          { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'ScheduleAnyway' },
          {
            maxSkew: 1,
            topologyKey: 'b',
            whenUnsatisfiable: 'DoNotSchedule',
            minDomains: 2,
            labelSelector: {},
            matchLabelKeys: ['pod-template-hash'],
          },
        ],
      },
    },
  ],
  ['no flags', { api: { nodeFlags: [] }, operator: { nodeFlags: [] } }],
  ['a profile as text', { operator: { scalingProfiles: { Capacity30: ' memoryLimit: 6Gi\n' } } }],
])('%s: the API server accepts every object', async (_, values) => {
  for (const namespace of namespaces) {
    expect(await tryValues(values, { name: 'r'.repeat(53), namespace })).toEqual({ is: 'accepted', message: '' })
  }
})
