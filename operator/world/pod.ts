import { assemblePod, buildProbes, commonEnvironment, gamePort, type Pod, tenantLabels } from '#operator/pods/pod.ts'
import { digestOf } from '#shared/digest.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'
import { frozenRunFields, type World, type WorldRun } from '#shared/resources/world.ts'
import { placementFields } from './placement.ts'
import { profileResources } from './run.ts'
import type { WorldSettings } from './settings.ts'

/**
 * Builds the server pod of a run from the frozen run alone. It has the world's name, so the API server refuses a second
 * one.
 */
export const buildPod = (world: World, run: WorldRun, settings: WorldSettings): KubeObject & { spec: object } =>
  assemblePod({
    owner: world,
    name: world.metadata.name,
    labels: serverLabels(world, run),
    annotations: { [digestAnnotation]: frozenDigest(run) },
    spec: placementFields(settings.placement, run.compute ?? world.spec.compute),
    stopGraceSeconds: settings.stopGraceSeconds,
    tmpSizeLimit: '256Mi',
    container: {
      name: 'server',
      image: run.image,
      args: run.args,
      env: environment(world, run, settings),
      ports: [
        { name: 'game-tcp', containerPort: gamePort, protocol: 'TCP' },
        { name: 'game-udp', containerPort: gamePort, protocol: 'UDP' },
      ],
      probes: run.probes ? probes : {},
      resources: resources(run, settings),
    },
  })

// Loading a map may take minutes, so liveness counts late. Players wait for readiness, so it is checked every second.
const probes = buildProbes({ readyEvery: 1, aliveAfter: 60, aliveEvery: 10 })

const digestAnnotation = `${apiGroup}/run-digest`

/** Reports whether the pod was built from a run with the same id and the same frozen fields. */
export const isBuiltFrom = (pod: Pod, run: WorldRun): boolean =>
  pod.metadata.annotations?.[digestAnnotation] === frozenDigest(run)

/** Covers the fields that a pod is built from, without the times and counts of the run. */
const frozenDigest = (run: WorldRun): string => digestOf(frozenRunFields.map((field) => run[field]))

/** Returns the labels of the pod and the service of a run. */
export const serverLabels = (world: World, run: WorldRun): Record<string, string> => ({
  ...tenantLabels(world),
  [labels.world]: world.metadata.name,
  [labels.run]: run.id,
  [labels.name]: 'world-server',
  [labels.component]: 'world',
  [labels.instance]: world.metadata.name,
  [labels.managedBy]: 'orrery-operator',
})

const environment = (
  world: World,
  run: WorldRun,
  { publicUrl }: WorldSettings,
): Record<string, string | undefined> => ({
  ...commonEnvironment({ worldName: world.metadata.name, runId: run.id, tenant: tenantLabels(world), publicUrl }),
  ORRERY_MAP_NAME: run.mapName,
  ORRERY_CAPACITY: String(run.capacity),
  ORRERY_DURATION_MINUTES: world.spec.durationMinutes?.toString(),
  ORRERY_SCALING_PROFILE: run.profile,
  ORRERY_CONTENT_ID: run.contentId,
  ORRERY_PORT: String(gamePort),
})

const resources = (run: WorldRun, settings: WorldSettings): object => {
  // Older operators froze runs without resources.
  const { memoryLimit, cpuLimit, memoryRequest, cpuRequest } = run.resources ?? profileResources(run.profile, settings)
  return { limits: { memory: memoryLimit, cpu: cpuLimit }, requests: { memory: memoryRequest, cpu: cpuRequest } }
}
