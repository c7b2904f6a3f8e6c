import { digestOf } from '#shared/digest.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'
import { frozenRunFields, type World, type WorldRun } from '#shared/resources/world.ts'
import { placementFields } from './placement.ts'
import { profileResources } from './run.ts'
import type { WorldSettings } from './settings.ts'

/** The part of a Pod that the operator reads. */
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

/** The part of a container's status that the operator reads. */
export type ContainerStatus = {
  name?: string
  state?: {
    waiting?: { reason?: string; message?: string }
    terminated?: { reason?: string; message?: string; exitCode?: number }
  }
}

/** The game port, TCP and UDP, inside every server. */
export const gamePort = 7777
const healthPort = 8080

/** What Pod Security `restricted` asks of every pod and container that the operator makes, and a read-only root. */
export const podSecurity = {
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  seccompProfile: { type: 'RuntimeDefault' },
}
export const containerSecurity = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
}

/**
 * The server pod of a run: named after its world, so that the API server refuses a second one, and built from the frozen
 * run alone. It passes Pod Security `restricted`. A pod is one attempt: the operator, not the kubelet, restarts it.
 */
export const buildPod = (world: World, run: WorldRun, settings: WorldSettings): KubeObject & { spec: object } => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: world.metadata.name,
    ...(world.metadata.namespace === undefined ? {} : { namespace: world.metadata.namespace }),
    labels: serverLabels(world, run),
    annotations: { [digestAnnotation]: frozenDigest(run) },
    ownerReferences: [ownerReference(world)],
  },
  spec: {
    restartPolicy: 'Never',
    ...placementFields(settings.placement, run.compute ?? world.spec.compute),
    terminationGracePeriodSeconds: settings.stopGraceSeconds,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: podSecurity,
    volumes: [{ name: 'tmp', emptyDir: { sizeLimit: '256Mi' } }],
    containers: [
      {
        name: 'server',
        image: run.image,
        imagePullPolicy: 'IfNotPresent',
        args: run.args.map(literal),
        env: environment(world, run, settings),
        ports: [
          { name: 'game-tcp', containerPort: gamePort, protocol: 'TCP' },
          { name: 'game-udp', containerPort: gamePort, protocol: 'UDP' },
          { name: 'health', containerPort: healthPort, protocol: 'TCP' },
        ],
        ...(run.probes ? probes : {}),
        resources: resources(run, settings),
        volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        securityContext: containerSecurity,
      },
    ],
  },
})

const digestAnnotation = `${apiGroup}/run-digest`

/** Whether the pod was made for a run with the same id and the same frozen fields. */
export const isMadeFor = (pod: Pod, run: WorldRun): boolean =>
  pod.metadata.annotations?.[digestAnnotation] === frozenDigest(run)

/** A fingerprint of the fields that a pod is built from. The start time is none of them: an operator may have to guess it. */
const frozenDigest = (run: WorldRun): string => digestOf(frozenRunFields.map((field) => run[field]))

// A world may load its map for minutes, so liveness starts late; readiness is asked every second, since players wait.
const probes = {
  readinessProbe: { httpGet: { path: '/readyz', port: 'health' }, periodSeconds: 1, timeoutSeconds: 2 },
  livenessProbe: {
    httpGet: { path: '/healthz', port: 'health' },
    initialDelaySeconds: 60,
    periodSeconds: 10,
    timeoutSeconds: 5,
  },
}

/** The labels of what a run consists of: its pod and its service. */
export const serverLabels = (world: World, run: WorldRun): Record<string, string> => {
  const inherited = [labels.organization, labels.project].flatMap((key) => {
    const value = world.metadata.labels?.[key]
    return value === undefined ? [] : [[key, value] as const]
  })
  return {
    ...Object.fromEntries(inherited),
    [labels.world]: world.metadata.name,
    [labels.run]: run.id,
    [labels.name]: 'world-server',
    [labels.component]: 'world',
    [labels.instance]: world.metadata.name,
    [labels.managedBy]: 'orrery-operator',
  }
}

const environment = (world: World, run: WorldRun, settings: WorldSettings): { name: string; value: string }[] => {
  const durationMinutes = world.spec.durationMinutes
  const values: Record<string, string | undefined> = {
    ORRERY_WORLD_ID: world.metadata.name,
    ORRERY_RUN_ID: run.id,
    ORRERY_ORGANIZATION_ID: world.metadata.labels?.[labels.organization],
    ORRERY_PROJECT_ID: world.metadata.labels?.[labels.project],
    ORRERY_DEPLOYMENT_ID: deploymentIdOfRun(run.id),
    ORRERY_API_URL: settings.publicUrl,
    ORRERY_REALTIME_URL: realtimeUrl(settings.publicUrl),
    ORRERY_MAP_NAME: run.mapName,
    ORRERY_CAPACITY: String(run.capacity),
    ORRERY_DURATION_MINUTES: durationMinutes === undefined ? undefined : String(durationMinutes),
    ORRERY_SCALING_PROFILE: run.profile,
    ORRERY_CONTENT_ID: run.contentId,
    ORRERY_PORT: String(gamePort),
  }
  return Object.entries(values).map(([name, value]) => ({ name, value: literal(value ?? '') }))
}

/** Where the API's WebSocket is. */
export const realtimeUrl = (publicUrl: string): string =>
  new URL('/api/realtime/connect/', publicUrl.replace(/^http/, 'ws')).href

/** Kubernetes expands $(NAME) in arguments and values; what a user wrote is passed on as it was written. */
export const literal = (text: string): string => text.replaceAll('$(', '$$$$(')

const resources = (run: WorldRun, settings: WorldSettings): object => {
  // A run that an older operator froze does not say.
  const { memoryLimit, cpuLimit, memoryRequest, cpuRequest } = run.resources ?? profileResources(run.profile, settings)
  return { limits: { memory: memoryLimit, cpu: cpuLimit }, requests: { memory: memoryRequest, cpu: cpuRequest } }
}
