import type { V1ContainerStatus, V1PodSpec, V1PodStatus } from '@kubernetes/client-node'
import { healthPort } from '#shared/domain/ports.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { type Json, type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'

type PodSpec = Json<V1PodSpec>
type PodStatus = Json<V1PodStatus>
type Container = PodSpec['containers'][number]

/** The status of one container, as far as the operator reads it. */
export type ContainerStatus = Partial<Pick<Json<V1ContainerStatus>, 'name' | 'state'>>

/** A Pod, as far as the operator reads it and its caches keep it (`pickCachedFields`). */
export type Pod = KubeObject & {
  spec?: Pick<PodSpec, 'nodeName'> & { containers?: Pick<Container, 'name' | 'image' | 'resources'>[] }
  status?: Pick<PodStatus, 'phase' | 'reason' | 'message' | 'podIP' | 'conditions'> & {
    containerStatuses?: ContainerStatus[]
  }
}

/** The role of a pod. It is also the name of the pod's container and the word for it in messages. */
export type PodRole = 'server' | 'bot'

/** The run that a pod or a service belongs to. */
export const runIdOf = ({ metadata }: { metadata: ObjectMeta }): string | undefined => metadata.labels?.[labels.run]

/** The pull policies of the kubelet. Only with Always does the registry check for each pod that the tenant may pull the image. */
export const imagePullPolicies = ['Always', 'IfNotPresent', 'Never'] as const

/** The settings that all pods share. */
export type PodSettings = {
  readonly imagePullPolicy: (typeof imagePullPolicies)[number]
  /** False if the users of a container are mapped to unprivileged users of the node. */
  readonly hostUsers: boolean
  /** The allowed registries in namespaces whose policy has none. */
  readonly imageRegistries: readonly string[]
}

/** A Pod to create. */
export type NewPod = KubeObject & { spec: PodSpec }

/** The probes of a container. */
export type Probes = Pick<Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'>

type PodParts = {
  readonly owner: KubeObject
  readonly settings: PodSettings
  readonly policy: NamespacePolicy
  readonly name: string
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  /** Fields of the pod's spec beside those that all pods share. */
  readonly spec: Partial<PodSpec>
  readonly stopGraceSeconds: number
  readonly tmpSizeLimit: string
  /** The limit for logs and `/tmp` together. */
  readonly storageLimit: string
  readonly container: {
    readonly name: PodRole
    readonly image: string
    readonly args: readonly string[]
    readonly env: Readonly<Record<string, string | undefined>>
    readonly ports: NonNullable<Container['ports']>
    readonly probes: Probes
    readonly resources: Required<Pick<NonNullable<Container['resources']>, 'limits' | 'requests'>>
  }
}

/**
 * Builds a pod that passes Pod Security `restricted`, with a read-only root and no service account token. The kubelet does not
 * restart its container: the operator creates a new pod instead.
 */
export const assemblePod = (parts: PodParts): NewPod => {
  const { settings, policy, storageLimit } = parts
  const { env, ports, args, ...container } = parts.container
  const { limits, requests } = container.resources
  const pullSecrets = (policy.imagePullSecrets ?? []).map((name) => ({ name }))
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: ownedMetadata(parts),
    spec: {
      restartPolicy: 'Never',
      ...parts.spec,
      terminationGracePeriodSeconds: parts.stopGraceSeconds,
      ...withDefined({
        serviceAccountName: policy.serviceAccount,
        imagePullSecrets: pullSecrets.length === 0 ? undefined : pullSecrets,
        hostUsers: settings.hostUsers ? undefined : false,
      }),
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: podSecurity,
      volumes: [{ name: 'tmp', emptyDir: { sizeLimit: parts.tmpSizeLimit } }],
      containers: [
        {
          name: container.name,
          image: container.image,
          imagePullPolicy: settings.imagePullPolicy,
          args: args.map(escapeReferences),
          env: Object.entries(env).map(([name, value]) => ({ name, value: escapeReferences(value ?? '') })),
          ports: [...ports, { name: 'health', containerPort: healthPort, protocol: 'TCP' }],
          ...container.probes,
          // Nothing is requested, because a node may not report its ephemeral storage.
          resources: {
            limits: { ...limits, 'ephemeral-storage': storageLimit },
            requests: { ...requests, 'ephemeral-storage': '0' },
          },
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

/** The time after the start deadline at which the kubelet ends a container that has not started. */
const startSlackSeconds = 60

/**
 * Builds the probes of a container. Readiness and liveness count only after `startPath` has responded. The container has
 * longer than the start deadline for that, so that the operator decides about a late start before the kubelet does.
 */
export const buildProbes = (options: {
  readonly startPath: '/readyz' | '/healthz'
  readonly startDeadlineMs: number
  readonly readyEverySeconds: number
  readonly aliveEverySeconds: number
}): Probes => ({
  startupProbe: {
    httpGet: { path: options.startPath, port: 'health' },
    periodSeconds: options.readyEverySeconds,
    timeoutSeconds: 2,
    failureThreshold: Math.ceil((options.startDeadlineMs / 1_000 + startSlackSeconds) / options.readyEverySeconds),
  },
  readinessProbe: {
    httpGet: { path: '/readyz', port: 'health' },
    periodSeconds: options.readyEverySeconds,
    timeoutSeconds: 2,
  },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'health' },
    periodSeconds: options.aliveEverySeconds,
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
  readonly worldId: string
  readonly runId: string
  readonly tenant: Readonly<Record<string, string>>
  readonly publicUrl: string
}): Record<string, string | undefined> => ({
  ORRERY_WORLD_ID: options.worldId,
  ORRERY_RUN_ID: options.runId,
  ORRERY_ORGANIZATION_ID: options.tenant[labels.organization],
  ORRERY_PROJECT_ID: options.tenant[labels.project],
  ORRERY_DEPLOYMENT_ID: deploymentIdOfRun(options.runId),
  ORRERY_API_URL: options.publicUrl,
  ORRERY_REALTIME_URL: new URL('/api/realtime/connect/', options.publicUrl.replace(/^http/, 'ws')).href,
})

/** Escapes `$(NAME)`, which Kubernetes would expand in arguments and values: users' text is passed on unchanged. */
const escapeReferences = (text: string): string => text.replaceAll('$(', '$$$$(')
