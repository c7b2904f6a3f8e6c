import { logLevels } from '#shared/log.ts'
import { samplers } from '#shared/tracing/settings.ts'
import { nodeFlags, operatorNodeFlags } from '../nodeFlags.ts'
import { choice, type Field, type Fields, field, flag, group, integer, text, texts } from './fields.ts'
import {
  absolutePath,
  annotations,
  dataKey,
  dnsLabel,
  gateway,
  host,
  hostPorts,
  image as imageSchema,
  imageTag,
  labels,
  objectName,
  orEmpty,
  origin,
  repository as repositorySchema,
  routeUrl,
  volumeSize,
} from './formats.ts'
import { typed } from './kubernetes.ts'
import { clusters, issuers, placements, profiles } from './processFiles.ts'
import { settingFields } from './settings.ts'

/** The name of an object of the cluster, or an empty string. */
const name = (description: string): Field => field('', description, orEmpty(objectName))

/** A list of a type of Kubernetes. */
const typedList = (type: Parameters<typeof typed>[0], description: string): Field => field([], description, typed(type))

const labelMap = (description: string): Field => field({}, description, labels)
const annotationMap = (description: string): Field => field({}, description, annotations)

/** Text without characters that quotes of CEL or YAML escape. */
const groupName = { minLength: 1, maxLength: 512, pattern: '^[^\'"\\\\\\x00-\\x1f]+$' }

const image = (repository: string, of: string) =>
  group(`The image of ${of}.`, {
    repository: field(repository, 'The repository, with its registry.', repositorySchema),
    tag: field('', 'The tag. Default: the appVersion of the chart.', orEmpty(imageTag)),
    digest: text('', 'A digest (sha256:…), used instead of the tag.', {
      pattern: '^(sha256:[0-9a-f]{64})?$',
    }),
  })

/** A value of an existing Secret. */
const secretKey = (key: string, description: string) =>
  group(description, {
    existingSecret: name('The name of a Secret in the namespace of the release.'),
    key: field(key, 'The key in that Secret.', dataKey),
  })

const resources = (cpu: string, memory: string, limit: string) =>
  field(
    { requests: { cpu, memory }, limits: { memory: limit } },
    'Requests and limits of the container.',
    typed('resources'),
  )

const serviceAccount = (process: string) =>
  group(`The ServiceAccount of the ${process}.`, {
    name: name(`Its name. Default: the name of the release and "-${process}".`),
    annotations: annotationMap('Its annotations, such as a role of the cloud.'),
  })

/** Values that the Deployments of the API and the operator have in common. */
const podFields = (process: 'api' | 'operator'): Fields => ({
  serviceAccount: serviceAccount(process),
  podAnnotations: annotationMap('Further annotations of the pods.'),
  podLabels: labelMap('Further labels of the pods.'),
  extraEnv: typedList('variables', 'Further environment variables (name, value or valueFrom).'),
  extraVolumes: typedList('volumes', 'Further volumes of the pods.'),
  extraVolumeMounts: typedList('mounts', 'Further volume mounts of the container.'),
  nodeSelector: labelMap('Labels that the node must have.'),
  tolerations: typedList('tolerations', 'Tolerations of the pods.'),
  affinity: field({}, 'Affinity of the pods.', typed('affinity')),
  topologySpreadConstraints: typedList('spreads', 'Replaces the default spread over nodes and zones.'),
  priorityClassName: name('The PriorityClass of the pods.'),
})

const persistence = (size: string, of: string) =>
  group(`The volume of ${of}. It is kept on uninstall.`, {
    enabled: flag(true, 'Use a PersistentVolumeClaim. Without one, the data ends with the pod.'),
    existingClaim: name('An existing claim, instead of one of the release.'),
    storageClassName: name('The StorageClass. Default: that of the cluster.'),
    accessModes: field(['ReadWriteOnce'], 'The access modes of the claim.', typed('accessModes')),
    size: field(size, 'The size of the claim.', volumeSize),
  })

const api = group('The API.', {
  replicas: integer(2, 'Replicas without autoscaling. A file store on a volume of one node permits only 1.', 0, 100),
  resources: resources('250m', '384Mi', '1536Mi'),
  nodeFlags: texts(nodeFlags, 'Flags of Node.'),
  settings: group('Environment variables of the API, in camel case.', settingFields('api')),
  tls: group('TLS served by the API itself.', {
    existingSecret: name('A Secret of the type kubernetes.io/tls; without one, HTTP.'),
  }),
  jwtIssuers: field([], 'External token issuers (docs/keys.md).', issuers),
  signInSecret: name('A Secret with client secrets of issuers, mounted at /etc/orrery/sign-in (docs/keys.md).'),
  clusters: field([], 'The clusters and their places (docs/clusters.md).', clusters),
  clustersSecret: name('A Secret with kubeconfigs and keys of clusters, mounted at /etc/orrery/clusters.'),
  terminationGracePeriodSeconds: integer(
    60,
    'Time to end: 5 s until endpoints are updated, then up to 15 s for open requests and sockets.',
    25,
    3_600,
  ),
  autoscaling: group('HorizontalPodAutoscaler of the API.', {
    enabled: flag(false, 'Create one. It replaces api.replicas.'),
    minReplicas: integer(2, 'The minimum number of replicas.', 1, 100),
    maxReplicas: integer(10, 'The maximum number of replicas.', 1, 100),
    targetCpuPercent: integer(70, 'Target of the CPU use, in percent of the request.', 1, 1_000),
    targetSockets: integer(
      0,
      'Target of the average number of open sockets per pod; 0 means none. Needs an adapter for custom metrics.',
      0,
      1_000_000,
    ),
  }),
  podDisruptionBudget: group('PodDisruptionBudget of the API.', {
    enabled: flag(true, 'Create one if there are at least 2 replicas.'),
    maxUnavailable: integer(1, 'Pods that may be down at the same time.', 1, 100),
  }),
  service: group('The Service of the API.', {
    type: choice('ClusterIP', 'Its type.', ['ClusterIP', 'NodePort', 'LoadBalancer']),
    port: integer(8080, 'Its port.', 1, 65_535),
    annotations: annotationMap('Its annotations.'),
  }),
  ...podFields('api'),
})

const operator = group('The operator.', {
  replicas: integer(2, 'Replicas. One leads, the others stand by.', 0, 10),
  resources: resources('100m', '256Mi', '1536Mi'),
  nodeFlags: texts(operatorNodeFlags, 'Flags of Node.'),
  settings: group('Environment variables of the operator, in camel case.', settingFields('operator')),
  scalingProfiles: field({}, 'Changes of scaling profiles (docs/worlds.md).', profiles),
  placement: field(
    [],
    'Node labels, tolerations, priority and settings of Services by group and region (docs/worlds.md).',
    placements,
  ),
  worldNamespaces: texts(
    [],
    'Existing namespaces in which the operator gets its tenant role and runs Worlds without the API.',
    dnsLabel,
    { uniqueItems: true },
  ),
  terminationGracePeriodSeconds: integer(30, 'Time to end.', 5, 3_600),
  podDisruptionBudget: group('PodDisruptionBudget of the operator.', {
    enabled: flag(true, 'Create one if there are at least 2 replicas.'),
    maxUnavailable: integer(1, 'Pods that may be down at the same time.', 1, 100),
  }),
  ...podFields('operator'),
})

const keys = group('The secrets of the API. Those without an existing Secret are generated once (docs/install.md).', {
  platformKey: secretKey('platform-key', 'The platform key (ORRERY_ROOT_API_KEY).'),
  platformKeyPrevious: secretKey('platform-key', 'The previous platform key, during its replacement.'),
  pepper: secretKey('pepper', 'The secret of the key hashes (ORRERY_KEY_PEPPER).'),
  pepperPrevious: secretKey('pepper', 'The previous pepper, during its rotation.'),
  encryptionKeys: secretKey('encryption-keys', 'The encryption keys (ORRERY_KEY_ENCRYPTION_KEYS).'),
  logs: secretKey('logs', 'The key of the tickets for logs (ORRERY_LOGS_KEY).'),
  logsPrevious: secretKey('logs', 'The previous one, during its rotation.'),
})

const logs = group('The logs of servers and bots in the API (docs/logs.md).', {
  enabled: flag(true, 'Offer logs.'),
  tls: group('The certificate of the log server of the operator.', {
    existingSecret: name(
      'A Secret of the type kubernetes.io/tls with ca.crt, for <fullname>-operator-logs.<namespace>.svc; without one, it is generated once.',
    ),
  }),
})

/** The spec of the Cluster, which must leave the role of the API to the chart. */
const clusterSpec = {
  type: 'object',
  properties: {
    managed: {
      type: 'object',
      properties: {
        roles: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string', not: { const: 'orrery_api' } } },
          },
        },
      },
    },
  },
}

const database = group('Postgres.', {
  mode: choice(
    'trial',
    'trial: one Postgres pod of this release. external: the URLs in database.external and database.owner. cnpg: a Cluster of CloudNativePG.',
    ['trial', 'external', 'cnpg'],
  ),
  external: secretKey(
    'url',
    "external: a Secret with the URL postgres://user:password@host:5432/database of the API's role, which owns no table.",
  ),
  owner: secretKey('url', 'external: a Secret with the URL of the role that owns the tables.'),
  trial: group('The Postgres of a trial, without replica and backup.', {
    image: field('docker.io/library/postgres:18', 'The image.', imageSchema),
    dataPath: field('/var/lib/postgresql', 'The path of the volume in the container.', absolutePath),
    resources: resources('100m', '256Mi', '1Gi'),
    persistence: persistence('5Gi', 'Postgres'),
  }),
  cnpg: group('A Cluster of CloudNativePG, whose operator must be installed.', {
    instances: integer(3, 'Instances of Postgres.', 1, 9),
    size: field('20Gi', 'The size of the volume of each instance.', volumeSize),
    storageClassName: name('The StorageClass. Default: that of the cluster.'),
    spec: field({}, 'Further fields of its spec, such as backup, or bootstrap to recover a database.', clusterSpec),
  }),
})

const objectStore = group('The store of builds and pictures.', {
  type: choice('file', 'file: a volume that all replicas of the API mount. s3: a bucket.', ['file', 's3']),
  file: group('The file store.', { persistence: persistence('10Gi', 'the file store') }),
  s3: group('A bucket of S3 or a compatible store.', {
    bucket: text('', 'The name of the bucket, which must exist.'),
    region: text('', 'The region.'),
    endpoint: text('', 'The URL of a compatible store. Default: that of AWS.', { pattern: '^(https?://.+)?$' }),
    prefix: text('', 'A prefix of the names of all objects.'),
    existingSecret: name(
      'A Secret with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; without one, the ServiceAccount needs a role.',
    ),
  }),
})

/** Objects that Kubernetes validates. Each has an identity. */
const extraObjects = {
  type: 'array',
  maxItems: 256,
  items: {
    type: 'object',
    required: ['apiVersion', 'kind', 'metadata'],
    properties: {
      apiVersion: { type: 'string', minLength: 1 },
      kind: { type: 'string', minLength: 1 },
      metadata: { type: 'object', required: ['name'], properties: { name: { type: 'string', minLength: 1 } } },
    },
  },
}

const ingress = group('Ingress of the API.', {
  enabled: flag(false, 'Create one.'),
  className: name('The IngressClass.'),
  annotations: annotationMap('Its annotations. Sockets need a read timeout of 60 s or more.'),
  host: field('', 'The host. Default: that of publicUrl.', orEmpty(host)),
  tlsSecret: name('A Secret of the type kubernetes.io/tls.'),
})

const httpRoute = group('HTTPRoute of the Gateway API.', {
  enabled: flag(false, 'Create one.'),
  annotations: annotationMap('Its annotations.'),
  parentRefs: typedList('gateways', 'The Gateways that it belongs to.'),
  hostnames: texts([], 'The hosts. Default: that of publicUrl.', host, { uniqueItems: true, maxItems: 16 }),
})

const networkPolicy = group('NetworkPolicies of the pods of this release.', {
  enabled: flag(true, 'Create them: the API takes requests, the trial Postgres only from the API.'),
  metricsFrom: typedList('peers', 'The peers that may read /metrics. Default: every pod of the cluster.'),
  egress: typedList('egress', 'Rules of egress of the API and the operator. Default: all egress.'),
})

/** The values of the chart: the source of values.yaml, values.schema.json and the reference of values. */
export const chartValues: Fields = {
  nameOverride: text('', 'Replaces the name of the release in the names of objects.', {
    pattern: '^([a-z]([-a-z0-9]{0,38}[a-z0-9])?)?$',
  }),
  publicUrl: field(
    '',
    'The URL at which clients and servers reach the API. Default: the Service, over HTTP, for trials.',
    orEmpty(origin),
  ),
  allowInsecurePublicUrl: flag(false, 'Permit a publicUrl with http. Without a publicUrl, http is permitted too.'),
  namespacePrefix: text('orrery', 'An organization has the namespace <prefix>-<organizationId>.', {
    pattern: '^[a-z]([a-z0-9-]{0,29}[a-z0-9])?$',
  }),
  hostPorts: field(
    { default: '7000-8000' },
    'The host ports of worlds, by name: "7000-8000" or "27015,27020-27030" (docs/networking.md).',
    hostPorts,
  ),
  route: group('Worlds with the strategy Route, which browsers reach through a Gateway (docs/networking.md).', {
    gateway: field(
      '',
      'The Gateway and its listener, such as gateways/players/wss. Default: no such worlds.',
      orEmpty(gateway),
    ),
    url: field(
      '',
      'The URL of worlds with * for the id of each, such as wss://*.worlds.example.com.',
      orEmpty(routeUrl),
    ),
  }),
  logLevel: choice('info', 'The level of the logs.', logLevels),
  image: image('orrery.dev/orrery', 'the API and the operator'),
  imagePullPolicy: choice(
    'IfNotPresent',
    'The pull policy of the pods of this release; servers and bots use operator.settings.imagePullPolicy.',
    ['Always', 'IfNotPresent', 'Never'],
  ),
  imagePullSecrets: typedList('pullSecrets', 'Secrets for pulling images (name).'),
  worldServer: group('Worlds that name no image.', { image: image('orrery.dev/world-server', 'their server') }),
  bot: group('Bots.', { image: image('orrery.dev/bot', 'bots') }),
  commonLabels: labelMap('Further labels of all objects.'),
  commonAnnotations: annotationMap('Further annotations of all objects.'),
  crds: group('The CustomResourceDefinitions.', {
    install: flag(true, 'Install and upgrade them with the chart. They are kept on uninstall.'),
  }),
  rbac: group('Roles and bindings.', {
    create: flag(true, 'Create them.'),
  }),
  admissionPolicies: group('ValidatingAdmissionPolicies (docs/security.md).', {
    enabled: flag(true, 'Create them.'),
    restoreGroups: texts(
      ['system:masters'],
      'Groups that may restore resources with their revision and status.',
      groupName,
    ),
  }),
  flowControl: group('Priority levels of the API server (docs/security.md).', {
    enabled: flag(true, 'Give both processes a priority level of their own.'),
    concurrencyShares: integer(40, 'The shares of that level.', 1, 10_000),
    tenants: group('A level for what others read and write of Worlds and BotDeployments.', {
      enabled: flag(false, 'Create it.'),
      groups: texts(['system:authenticated'], 'The groups of its clients.', groupName, { minItems: 1 }),
      concurrencyShares: integer(10, 'The shares of that level.', 1, 10_000),
    }),
  }),
  api,
  operator,
  keys,
  logs,
  console: group('The console at /console/ (docs/console.md).', { enabled: flag(true, 'Serve it.') }),
  database,
  objectStore,
  ingress,
  httpRoute,
  networkPolicy,
  metrics: group('Prometheus and Grafana.', {
    serviceMonitor: group('ServiceMonitors of the Prometheus operator.', {
      enabled: flag(false, 'Create them.'),
      labels: labelMap('Their further labels.'),
      interval: text('30s', 'The scrape interval.', { pattern: '^[0-9]+(ms|s|m)$' }),
    }),
    prometheusRule: group('Alerts.', {
      enabled: flag(false, 'Create a PrometheusRule.'),
      labels: labelMap('Its further labels.'),
    }),
    dashboards: group('Dashboards of Grafana.', {
      enabled: flag(false, 'Create a ConfigMap for each, for the sidecar of Grafana.'),
      labels: labelMap('Their labels besides grafana_dashboard.'),
    }),
  }),
  tracing: group('Traces by OpenTelemetry (docs/traces.md).', {
    endpoint: text('', 'The OTLP endpoint over HTTP. Without one, nothing is traced.', {
      pattern: '^(https?://.+)?$',
    }),
    sampler: choice('parentbased_always_on', 'The sampler of requests, by its name in OpenTelemetry.', samplers),
    samplerArg: text('', 'The part of the requests that the samplers with traceidratio trace, such as "0.1".', {
      pattern: '^((0|1)([.][0-9]{1,6})?)?$',
    }),
    headers: secretKey('headers', 'Headers of the export (OTEL_EXPORTER_OTLP_HEADERS), such as credentials.'),
  }),
  extraObjects: field([], 'Further objects of the release; their strings may be templates.', extraObjects),
}
