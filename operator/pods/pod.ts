import type { V1ContainerStatus, V1PodSpec, V1PodStatus } from '@kubernetes/client-node'
import { healthPort } from '#shared/domain/ports.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { type Json, type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { resourceIdOf } from '#shared/resources/resourceId.ts'
import type { World } from '#shared/resources/world.ts'

type PodSpec = Json<V1PodSpec>
type PodStatus = Json<V1PodStatus>
type Container = PodSpec['containers'][number]

/** The status of one container, as far as the operator reads it. */
export type ContainerStatus = Partial<Pick<Json<V1ContainerStatus>, 'name' | 'state'>>

/** A container, of which the caches keep the ports with a host port alone. */
type CachedContainer = Pick<Container, 'name' | 'image' | 'resources'> & {
  ports?: Pick<NonNullable<Container['ports']>[number], 'name' | 'hostPort'>[]
}

/** A Pod, as far as the operator reads it and its caches keep it (`pickCachedFields`). */
export type Pod = KubeObject & {
  spec?: Pick<PodSpec, 'nodeName'> & { containers?: CachedContainer[] }
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
  /** The URL at which servers and bots reach the API. */
  readonly publicUrl: string
  /** The time in which a server must become Ready, and a bot must answer its first probe. */
  readonly startDeadlineMs: number
}

/** A Pod to create. */
export type NewPod = KubeObject & { spec: PodSpec }

/** The ids of a pod's tenant and world, as the API granted them. */
export type PodTenant = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** The owner of a pod, and the world and run that it serves. */
type PodIdentity = {
  readonly owner: KubeObject
  readonly world: World
  readonly runId: string
  /** Undefined outside the namespaces of organizations: the ids are then those of the labels. */
  readonly tenant?: PodTenant | undefined
}

/** The probes of a container. Readiness and liveness count only after `startPath` has responded. */
type ProbeTimes = {
  readonly startPath: '/readyz' | '/healthz'
  readonly readyEverySeconds: number
  readonly aliveEverySeconds: number
}

type PodParts = PodIdentity & {
  readonly settings: PodSettings
  readonly policy: NamespacePolicy
  readonly name: string
  readonly labels: Record<string, string>
  readonly annotations: Record<string, string>
  /** The fields of the pod's spec that not all pods share. */
  readonly spec: Partial<PodSpec>
  readonly stopGraceSeconds: number
  readonly tmpSizeLimit: string
  /** The limit for logs and `/tmp` together. */
  readonly storageLimit: string
  readonly container: {
    readonly name: PodRole
    readonly image: string
    readonly args: readonly string[]
    /** The environment variables that servers and bots do not have in common. */
    readonly env: Readonly<Record<string, string | undefined>>
    readonly ports: NonNullable<Container['ports']>
    /** Undefined for an image without HTTP endpoints. */
    readonly probes: ProbeTimes | undefined
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
          env: Object.entries({ ...commonEnvironment(parts), ...env }).map(([name, value]) => ({
            name,
            value: escapeReferences(value ?? ''),
          })),
          ports: [...ports, { name: 'health', containerPort: healthPort, protocol: 'TCP' }],
          ...(container.probes && buildProbes(container.probes, settings)),
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
 * Builds the probes of a container. It has longer than the start deadline for its first response, so that the operator
 * decides about a late start before the kubelet does.
 */
const buildProbes = (
  { startPath, readyEverySeconds, aliveEverySeconds }: ProbeTimes,
  { startDeadlineMs }: PodSettings,
): Pick<Container, 'startupProbe' | 'readinessProbe' | 'livenessProbe'> => ({
  startupProbe: {
    httpGet: { path: startPath, port: 'health' },
    periodSeconds: readyEverySeconds,
    timeoutSeconds: 2,
    failureThreshold: Math.ceil((startDeadlineMs / 1_000 + startSlackSeconds) / readyEverySeconds),
  },
  readinessProbe: {
    httpGet: { path: '/readyz', port: 'health' },
    periodSeconds: readyEverySeconds,
    timeoutSeconds: 2,
  },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'health' },
    periodSeconds: aliveEverySeconds,
    timeoutSeconds: 5,
  },
})

/** Returns the labels that all pods and services of a run have in common. */
export const commonLabels = (identity: PodIdentity): Record<string, string> => {
  const { organizationId, projectId, worldId } = idsOf(identity)
  return {
    ...withDefined({ [labels.organization]: organizationId, [labels.project]: projectId }),
    [labels.world]: identity.world.metadata.name,
    [labels.worldId]: worldId,
    [labels.run]: identity.runId,
    [labels.instance]: identity.owner.metadata.name,
    [labels.managedBy]: 'orrery-operator',
  }
}

/** Returns the granted ids, or else those in the labels of the owner or the world. */
const idsOf = ({ owner, world, tenant }: PodIdentity): Partial<PodTenant> & Pick<PodTenant, 'worldId'> => {
  if (tenant !== undefined) return tenant
  const find = (key: string) => owner.metadata.labels?.[key] ?? world.metadata.labels?.[key]
  const [organizationId, projectId] = [find(labels.organization), find(labels.project)]
  return { worldId: resourceIdOf('world', world), ...withDefined({ organizationId, projectId }) }
}

const commonEnvironment = (parts: PodParts): Record<string, string | undefined> => {
  const { runId, settings } = parts
  const { organizationId, projectId, worldId } = idsOf(parts)
  return {
    ORRERY_WORLD_ID: worldId,
    ORRERY_RUN_ID: runId,
    ORRERY_ORGANIZATION_ID: organizationId,
    ORRERY_PROJECT_ID: projectId,
    ORRERY_DEPLOYMENT_ID: deploymentIdOfRun(runId),
    ORRERY_API_URL: settings.publicUrl,
    ORRERY_REALTIME_URL: new URL('/api/realtime/connect/', settings.publicUrl.replace(/^http/, 'ws')).href,
  }
}

/** Escapes `$(NAME)`, which Kubernetes would expand in arguments and values: users' text is passed on unchanged. */
const escapeReferences = (text: string): string => text.replaceAll('$(', '$$$$(')
