import { deploymentIdOfRun } from '#shared/ids.ts'
import { type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'

/** A Pod, as far as the operator reads it. Times are RFC 3339. */
export type Pod = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: {
    nodeName?: string
    containers?: { name: string; image?: string; resources?: { limits?: { memory?: string } } }[]
  }
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown'
    reason?: string
    message?: string
    podIP?: string
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[]
    containerStatuses?: ContainerStatus[]
  }
}

/** The status of one container, as far as the operator reads it. */
export type ContainerStatus = {
  name?: string
  state?: {
    waiting?: { reason?: string; message?: string }
    terminated?: { reason?: string; message?: string; exitCode?: number; startedAt?: string; finishedAt?: string }
  }
}

/** The role of a pod. It is also the name of the pod's container and the word for it in messages. */
export type PodRole = 'server' | 'bot'

/** The game port of every server, TCP and UDP. */
export const gamePort = 7777
/** The port of `/readyz` and `/healthz` of servers and bots. */
export const healthPort = 8080

/** The run that a pod or a service belongs to. */
export const runIdOf = ({ metadata }: { metadata: ObjectMeta }): string | undefined => metadata.labels?.[labels.run]

type PodParts = {
  readonly owner: KubeObject
  readonly name: string
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  /** Fields of the pod's spec beside those that all pods share. */
  readonly spec: object
  readonly stopGraceSeconds: number
  readonly tmpSizeLimit: string
  readonly container: {
    readonly name: PodRole
    readonly image: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string | undefined>>
    readonly ports: readonly object[]
    readonly probes: object
    readonly resources: object
  }
}

/**
 * Builds a pod that passes Pod Security `restricted`, with a read-only root and no service account token. A pod is one
 * attempt: the operator creates the next one, and the kubelet restarts nothing.
 */
export const assemblePod = (parts: PodParts): KubeObject & { spec: object } => {
  const { env, ports, args, ...container } = parts.container
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: ownedMetadata(parts),
    spec: {
      restartPolicy: 'Never',
      ...parts.spec,
      terminationGracePeriodSeconds: parts.stopGraceSeconds,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: podSecurity,
      volumes: [{ name: 'tmp', emptyDir: { sizeLimit: parts.tmpSizeLimit } }],
      containers: [
        {
          name: container.name,
          image: container.image,
          imagePullPolicy: 'IfNotPresent',
          args: args.map(escapeReferences),
          env: Object.entries(env).map(([name, value]) => ({ name, value: escapeReferences(value ?? '') })),
          ports: [...ports, { name: 'health', containerPort: healthPort, protocol: 'TCP' }],
          ...container.probes,
          resources: container.resources,
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
          securityContext: containerSecurity,
        },
      ],
    },
  }
}

type Owned = Pick<PodParts, 'owner' | 'name' | 'labels'> & { readonly annotations?: Record<string, string> }

/** The metadata of an object in its owner's namespace. Throws a `TypeError` for an owner without a uid. */
export const ownedMetadata = ({ owner, name, labels: marks, annotations }: Owned): ObjectMeta =>
  withDefined({
    name,
    namespace: owner.metadata.namespace,
    labels: marks,
    annotations,
    ownerReferences: [ownerReference(owner)],
  })

const podSecurity = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
}
const containerSecurity = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/** Builds the probes of a container. All times in seconds; a server or bot may be slow before its liveness counts. */
export const buildProbes = (times: { readyEvery: number; aliveAfter: number; aliveEvery: number }): object => ({
  readinessProbe: {
    httpGet: { path: '/readyz', port: 'health' },
    periodSeconds: times.readyEvery,
    timeoutSeconds: 2,
  },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'health' },
    initialDelaySeconds: times.aliveAfter,
    periodSeconds: times.aliveEvery,
    timeoutSeconds: 5,
  },
})

/** Returns the organization and project labels; each comes from the first of the objects that has it. */
export const tenantLabels = (...sources: readonly { metadata: ObjectMeta }[]): Record<string, string> =>
  Object.fromEntries(
    [labels.organization, labels.project].flatMap((key) => {
      const value = sources.map(({ metadata }) => metadata.labels?.[key]).find((each) => each !== undefined)
      return value === undefined ? [] : [[key, value]]
    }),
  )

/** The environment variables that servers and bots have in common. */
export const commonEnvironment = (options: {
  readonly worldName: string
  readonly runId: string
  readonly tenant: Readonly<Record<string, string>>
  readonly publicUrl: string
}): Record<string, string | undefined> => ({
  ORRERY_WORLD_ID: options.worldName,
  ORRERY_RUN_ID: options.runId,
  ORRERY_ORGANIZATION_ID: options.tenant[labels.organization],
  ORRERY_PROJECT_ID: options.tenant[labels.project],
  ORRERY_DEPLOYMENT_ID: deploymentIdOfRun(options.runId),
  ORRERY_API_URL: options.publicUrl,
  ORRERY_REALTIME_URL: new URL('/api/realtime/connect/', options.publicUrl.replace(/^http/, 'ws')).href,
})

/** Escapes `$(NAME)`, which Kubernetes would expand in arguments and values: users' text is passed on unchanged. */
const escapeReferences = (text: string): string => text.replaceAll('$(', '$$$$(')
