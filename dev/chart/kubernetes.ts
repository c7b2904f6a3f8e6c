import { namePatterns } from '#shared/kube/names.ts'
import {
  absolutePath,
  annotations,
  bytes,
  choice,
  cidr,
  cpu,
  dataKey,
  dnsLabel,
  flag,
  image,
  inner,
  integer,
  labelKey,
  labels,
  labelValue,
  like,
  list,
  map,
  object,
  objectName,
  orEmpty,
  type Schema,
  text,
  volumeSize,
} from './formats.ts'

// What the API server accepts in the parts of objects that values of the chart contain. It checks more than its own OpenAPI
// document says.

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

const spread = (
  whenUnsatisfiable: string,
  more: { readonly [key: string]: Schema },
  required: readonly string[] = [],
): Schema =>
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
    ['maxSkew', 'topologyKey', 'whenUnsatisfiable', ...required],
  )
const [soft, hard] = [{}, { minDomains: integer(1, 1_000) }]
/** Pods of one revision, beside a selector. */
const ofRevision = { matchLabelKeys: list(choice('pod-template-hash'), { maxItems: 1 }) }
const selected = ['labelSelector', 'matchLabelKeys']

const effects = choice('NoSchedule', 'PreferNoSchedule', 'NoExecute')
const toleration: Schema = {
  anyOf: [
    object({ key: labelKey, operator: choice('Exists'), effect: effects }, ['operator']),
    object(
      {
        key: labelKey,
        operator: choice('Exists'),
        effect: choice('NoExecute'),
        tolerationSeconds: integer(0, 1_000_000),
      },
      ['operator', 'effect', 'tolerationSeconds'],
    ),
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

/** A label or an annotation of the pod. */
const labelOfPod = like(`metadata\\.(labels|annotations)\\['${inner(namePatterns.labelKey)}'\\]`, 253)
const keyOf = (name: Schema): Schema => object({ name, key: dataKey, optional: flag }, ['name', 'key'])
const fieldRef = object(
  {
    apiVersion: choice('v1'),
    fieldPath: {
      anyOf: [
        choice('metadata.name', 'metadata.namespace', 'metadata.uid', 'spec.nodeName', 'spec.serviceAccountName'),
        choice('status.hostIP', 'status.hostIPs', 'status.podIP', 'status.podIPs'),
        labelOfPod,
      ],
    },
  },
  ['fieldPath'],
)
const resourceFieldRef: Schema = {
  anyOf: [
    object({ resource: choice('limits.cpu', 'requests.cpu'), divisor: choice('1', '1m') }, ['resource']),
    object(
      {
        resource: choice('limits.memory', 'requests.memory'),
        divisor: choice('1', '1k', '1M', '1G', '1Ki', '1Mi', '1Gi'),
      },
      ['resource'],
    ),
  ],
}
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
const filePart = '\\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*'
const file = like(`${filePart}(/${filePart})*`, 253)
const items = list(object({ key: dataKey, path: file, mode }, ['key', 'path']))
const podFields = ['name', 'namespace', 'uid', 'labels', 'annotations'].map((field) => `metadata.${field}`)
const fileOfPod: Schema = { anyOf: [choice(...podFields), labelOfPod] }
const fieldFiles = list(
  object({ path: file, fieldRef: object({ fieldPath: fileOfPod }, ['fieldPath']), mode }, ['path', 'fieldRef']),
)
const projections: Schema = {
  anyOf: [
    object({ secret: object({ name: objectName, items, optional: flag }, ['name']) }, ['secret']),
    object({ configMap: object({ name: objectName, items, optional: flag }, ['name']) }, ['configMap']),
    object({ downwardAPI: object({ items: fieldFiles }) }, ['downwardAPI']),
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
      driver: { ...objectName, maxLength: 63 },
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
    object({ ipBlock: object({ cidr, except: list(cidr) }, ['cidr']) }, ['ipBlock']),
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
    anyOf: [
      spread('ScheduleAnyway', soft),
      spread('DoNotSchedule', hard),
      spread('ScheduleAnyway', { ...soft, ...ofRevision }, selected),
      spread('DoNotSchedule', { ...hard, ...ofRevision }, selected),
    ],
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
    { maxItems: 32, uniqueItems: true },
  ),
} satisfies { readonly [name: string]: Schema }

/** The schema of values of a type in `definitions`. */
export const typed = (name: keyof typeof definitions): Schema => ref(name)
