import { namePatterns } from '#shared/kube/names.ts'
import type { Json } from './fields.ts'

// What the API server accepts in the parts of objects that values of the chart contain. It checks more than its own OpenAPI
// document says. The patterns are valid in Go and in JavaScript.

type Schema = { readonly [key: string]: Json }

const inner = (pattern: string): string => pattern.slice(1, -1)
const [label, subdomain] = [inner(namePatterns.dnsLabel), inner(namePatterns.object)]

/** Text that fits a pattern. */
const like = (pattern: string, maxLength: number, more: Schema = {}): Schema => ({
  type: 'string',
  pattern: `^${pattern}$`,
  maxLength,
  ...more,
})
/** A type, or an empty string. */
export const orEmpty = ({ pattern, ...schema }: Schema): Schema => ({
  ...schema,
  pattern: `^(${inner(String(pattern))})?$`,
})

/** The name of most objects: a DNS subdomain. */
export const objectName = like(subdomain, 253)
/** A DNS label, such as the name of a namespace. */
export const dnsLabel = like(label, 63)
/** A key of a label or an annotation. */
const labelKey = like(inner(namePatterns.labelKey), 253)
const labelValue = like(inner(namePatterns.labelValue), 63)
/** The key of an entry of a Secret or a ConfigMap. It is a file name, and neither "." nor begins with "..". */
export const dataKey = like('\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*', 253)
/** A host that no address fits: its last label begins with a letter. */
export const host = like(`(\\*\\.)?(${label}\\.)*[a-z]([-a-z0-9]*[a-z0-9])?`, 253)
const port = '([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])'
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const ipv4 = `${byte}(\\.${byte}){3}`
/** An http or https URL of a host in lower case or an address, with an optional port. */
export const origin = like(`https?://((${label}\\.)*${label}|\\[[0-9a-f:]{2,39}\\])(:${port})?/?`, 512)
const prefix6 = '(12[0-8]|1[01][0-9]|[1-9]?[0-9])'
// The first group is not 0, since the API server refuses IPv4 addresses in IPv6 form.
const start6 = '[1-9a-f][0-9a-f]{0,3}'
const cidr = {
  anyOf: [
    like(`${ipv4}/(3[0-2]|[12]?[0-9])`, 18),
    like(`${start6}(:[0-9a-f]{1,4}){7}/128`, 43),
    like(`(${start6}(:[0-9a-f]{1,4}){0,5}::/${prefix6}|::/0)`, 43),
  ],
} satisfies Schema
const ipv4Cidr = cidr.anyOf[0] as Schema
/** An image: a repository with an optional registry, tag and digest. */
const repositoryPattern = `${label}([._]${label})*(:${port})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*`
export const repository = like(repositoryPattern, 512)
export const imageTag = like('[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}', 128)
export const image = like(`${repositoryPattern}(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?`, 1_024)
/** The size of a volume, above 0. */
export const volumeSize = like('[1-9][0-9]{0,5}([kMGTP]|[KMGTP]i)?', 8)
/** An absolute path, as a mount has it. */
export const absolutePath = like('/[^:\\x00-\\x1f]*', 512)

const bytes = {
  anyOf: [
    { type: 'integer', minimum: 0, maximum: 2 ** 50 },
    like('[0-9]{1,15}', 15),
    like('[0-9]{1,6}(\\.[0-9]{1,3})?([kMGT]|[KMGT]i)', 16),
  ],
} satisfies Schema
const cpu = {
  anyOf: [
    { type: 'number', minimum: 0, maximum: 100_000, multipleOf: 0.001 },
    like('[0-9]{1,6}(\\.[0-9]{1,3})?', 10),
    like('[0-9]{1,9}m', 10),
  ],
} satisfies Schema

/** An object with these fields and no others. */
const object = (properties: { readonly [key: string]: Schema }, required: readonly string[] = []): Schema => ({
  type: 'object',
  additionalProperties: false,
  properties,
  ...(required.length === 0 ? {} : { required }),
})
const list = (items: Schema, more: Schema = {}): Schema => ({ type: 'array', maxItems: 64, items, ...more })
const choice = (...values: readonly string[]): Schema => ({ type: 'string', enum: values })
const flag: Schema = { type: 'boolean' }
const integer = (minimum: number, maximum: number): Schema => ({ type: 'integer', minimum, maximum })
const text: Schema = { type: 'string', maxLength: 32_768 }
/** A map whose keys fit a pattern. Helm names the path of another key, unlike with `propertyNames`. */
const map = (keys: string, values: Schema): Schema => ({
  type: 'object',
  maxProperties: 128,
  patternProperties: { [keys]: values },
  additionalProperties: false,
})

/** Labels. */
export const labels = map(namePatterns.labelKey, labelValue)
/** Annotations. */
export const annotations = map(namePatterns.labelKey, text)

const ref = (name: string): Schema => ({ $ref: `#/definitions/${name}` })

const requirement = (operators: { readonly [key: string]: Schema | undefined }): Schema => ({
  anyOf: Object.entries(operators).map(([operator, values]) =>
    object({ key: labelKey, operator: choice(operator), ...(values ? { values } : {}) }, [
      'key',
      'operator',
      ...(values ? ['values'] : []),
    ]),
  ),
})
const some = list(labelValue, { minItems: 1 })
const numberText = list(like('[0-9]{1,9}', 9), { minItems: 1, maxItems: 1 })
const labelOperators = { In: some, NotIn: some, Exists: undefined, DoesNotExist: undefined }
const labelSelector = object({ matchLabels: labels, matchExpressions: list(requirement(labelOperators)) })

const nodeTerm = object({ matchExpressions: list(requirement({ ...labelOperators, Gt: numberText, Lt: numberText })) })
const podTerm = object(
  {
    topologyKey: labelKey,
    labelSelector: ref('labelSelector'),
    namespaces: list(dnsLabel),
    namespaceSelector: ref('labelSelector'),
  },
  ['topologyKey'],
)
const [preferred, required] = [
  'preferredDuringSchedulingIgnoredDuringExecution',
  'requiredDuringSchedulingIgnoredDuringExecution',
]
const weighted = (name: string, term: Schema): Schema =>
  list(object({ weight: integer(1, 100), [name]: term }, ['weight', name]))
const podAffinity = object({ [required]: list(podTerm), [preferred]: weighted('podAffinityTerm', podTerm) })
const affinity = object({
  nodeAffinity: object({
    [required]: object({ nodeSelectorTerms: list(nodeTerm, { minItems: 1 }) }, ['nodeSelectorTerms']),
    [preferred]: weighted('preference', nodeTerm),
  }),
  podAffinity,
  podAntiAffinity: podAffinity,
})

const spread = (whenUnsatisfiable: string, more: { readonly [key: string]: Schema }): Schema =>
  object(
    {
      maxSkew: integer(1, 1_000),
      topologyKey: labelKey,
      whenUnsatisfiable: choice(whenUnsatisfiable),
      labelSelector: ref('labelSelector'),
      nodeAffinityPolicy: choice('Honor', 'Ignore'),
      nodeTaintsPolicy: choice('Honor', 'Ignore'),
      ...more,
    },
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable', 'labelSelector'],
  )

const effects = choice('NoSchedule', 'PreferNoSchedule', 'NoExecute')
const toleration: Schema = {
  anyOf: [
    object({ key: labelKey, operator: choice('Exists'), effect: effects }, ['operator']),
    object({ key: labelKey, operator: choice('Equal'), value: labelValue, effect: effects }, ['key']),
    object(
      {
        key: labelKey,
        operator: choice('Equal'),
        value: labelValue,
        effect: choice('NoExecute'),
        tolerationSeconds: integer(0, 1_000_000),
      },
      ['key', 'effect'],
    ),
  ],
}

const keyOf = (name: Schema): Schema => object({ name, key: dataKey, optional: flag }, ['name', 'key'])
const fieldRef = object(
  {
    apiVersion: choice('v1'),
    fieldPath: {
      anyOf: [
        choice('metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName'),
        choice('status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'),
        like("metadata\\.(labels|annotations)\\['[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'\\]", 253),
      ],
    },
  },
  ['fieldPath'],
)
const resourceFieldRef = object(
  { resource: choice('limits.cpu', 'limits.memory', 'requests.cpu', 'requests.memory') },
  ['resource'],
)
const variableName = like('[-._a-zA-Z][-._a-zA-Z0-9]*', 253)
const variable: Schema = {
  anyOf: [
    object({ name: variableName, value: text }, ['name']),
    ...Object.entries({
      configMapKeyRef: keyOf(objectName),
      secretKeyRef: keyOf(objectName),
      fieldRef,
      resourceFieldRef,
    }).map(([from, schema]) =>
      object({ name: variableName, valueFrom: object({ [from]: schema }, [from]) }, ['name', 'valueFrom']),
    ),
  ],
}

const mode = integer(0, 0o777)
const file = like('[-_a-zA-Z0-9][-._a-zA-Z0-9]*(/[-_a-zA-Z0-9][-._a-zA-Z0-9]*)*', 253)
const items = list(object({ key: dataKey, path: file, mode }, ['key', 'path']))
const fieldFiles = list(
  object(
    { path: file, fieldRef: object({ fieldPath: choice('metadata.name', 'metadata.uid') }, ['fieldPath']), mode },
    ['path', 'fieldRef'],
  ),
)
const projections: Schema = {
  anyOf: [
    object({ secret: object({ name: objectName, items, optional: flag }, ['name']) }, ['secret']),
    object({ configMap: object({ name: objectName, items, optional: flag }, ['name']) }, ['configMap']),
    object(
      {
        serviceAccountToken: object(
          { path: file, audience: like('[!-~]+', 512), expirationSeconds: integer(600, 1_000_000) },
          ['path'],
        ),
      },
      ['serviceAccountToken'],
    ),
  ],
}
const claim = object(
  {
    metadata: object({ labels, annotations }),
    spec: object(
      {
        accessModes: ref('accessModes'),
        storageClassName: objectName,
        resources: object({ requests: object({ storage: volumeSize }, ['storage']) }, ['requests']),
      },
      ['accessModes', 'resources'],
    ),
  },
  ['spec'],
)
/** The kinds of volume that Pod Security "restricted" permits. */
const volumes: { readonly [kind: string]: Schema } = {
  configMap: object({ name: objectName, items, defaultMode: mode, optional: flag }, ['name']),
  secret: object({ secretName: objectName, items, defaultMode: mode, optional: flag }, ['secretName']),
  emptyDir: object({ medium: choice('', 'Memory'), sizeLimit: ref('bytes') }),
  persistentVolumeClaim: object({ claimName: objectName, readOnly: flag }, ['claimName']),
  projected: object({ sources: list(projections), defaultMode: mode }, ['sources']),
  downwardAPI: object({ items: fieldFiles, defaultMode: mode }),
  csi: object(
    {
      driver: like(subdomain, 63),
      readOnly: flag,
      fsType: text,
      volumeAttributes: map('^.{1,128}$', text),
      nodePublishSecretRef: object({ name: objectName }, ['name']),
    },
    ['driver'],
  ),
  ephemeral: object({ volumeClaimTemplate: claim }, ['volumeClaimTemplate']),
  image: object({ reference: image, pullPolicy: choice('Always', 'IfNotPresent', 'Never') }, ['reference']),
}
const volume: Schema = {
  anyOf: Object.entries(volumes).map(([kind, schema]) => object({ name: dnsLabel, [kind]: schema }, ['name', kind])),
}
const mount = object(
  {
    name: dnsLabel,
    mountPath: absolutePath,
    subPath: file,
    readOnly: flag,
    mountPropagation: choice('None', 'HostToContainer'),
  },
  ['name', 'mountPath'],
)

const quantities = object({ cpu: ref('cpu'), memory: ref('bytes'), 'ephemeral-storage': ref('bytes') })
const peer: Schema = {
  anyOf: [
    object({ ipBlock: object({ cidr, except: list(ipv4Cidr) }, ['cidr']) }, ['ipBlock']),
    object({ podSelector: ref('labelSelector'), namespaceSelector: ref('labelSelector') }, ['podSelector']),
    object({ namespaceSelector: ref('labelSelector') }, ['namespaceSelector']),
  ],
}
const protocol = choice('TCP', 'UDP', 'SCTP')
const portNumber = integer(1, 65_535)
const ports = list({
  anyOf: [
    object({ protocol }),
    object({ protocol, port: portNumber, endPort: portNumber }, ['port']),
    object({ protocol, port: like('[a-z]([-a-z0-9]{0,13}[a-z0-9])?', 15) }, ['port']),
  ],
})

/** The types that values have in common, by the names in `definitions` of the schema. */
export const definitions = {
  bytes,
  cpu,
  labelSelector,
  affinity,
  peer,
  accessModes: {
    anyOf: [
      list(choice('ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany'), { minItems: 1, uniqueItems: true }),
      list(choice('ReadWriteOncePod'), { minItems: 1, maxItems: 1 }),
    ],
  },
  variables: list(variable),
  volumes: list(volume),
  mounts: list(mount),
  tolerations: list(toleration),
  spreads: list({
    anyOf: [spread('ScheduleAnyway', {}), spread('DoNotSchedule', { minDomains: integer(1, 1_000) })],
  }),
  resources: object({ requests: quantities, limits: quantities }),
  pullSecrets: list(object({ name: objectName }, ['name']), { uniqueItems: true }),
  peers: list(ref('peer')),
  egress: list(object({ to: list(ref('peer')), ports })),
  gateways: list(
    object(
      {
        group: orEmpty(objectName),
        kind: like('[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?', 63),
        name: objectName,
        namespace: dnsLabel,
        sectionName: objectName,
        port: portNumber,
      },
      ['name'],
    ),
    { maxItems: 32 },
  ),
} satisfies { readonly [name: string]: Schema }

/** The schema of values of a type in `definitions`. */
export const typed = (name: keyof typeof definitions): Schema => ref(name)
