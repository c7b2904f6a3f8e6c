import { assemblePod, commonLabels, type NewPod, type Pod } from '#operator/pods/pod.ts'
import { digestOf } from '#shared/digest.ts'
import { podPorts, publicPorts, type WorldPort } from '#shared/domain/ports.ts'
import { hasProbes } from '#shared/domain/query.ts'
import { runtimeSettings, settingVariable } from '#shared/domain/world.ts'
import { withDefined } from '#shared/optional.ts'
import { apiGroup, labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { podSelectors } from '#shared/resources/selectors.ts'
import { capturedRunFields, type World, type WorldRun } from '#shared/resources/world.ts'
import { tenantOf } from './grant.ts'
import { placeServer } from './placement.ts'
import { profileResources } from './run.ts'
import type { WorldSettings } from './settings.ts'

/**
 * Builds the server pod of a run from the captured run and its host ports alone. It has the world's name, so the API server refuses a
 * second one.
 */
export const buildPod = (
  world: World,
  run: WorldRun,
  settings: WorldSettings,
  policy: NamespacePolicy = {},
  hostPorts: readonly number[] = [],
): NewPod => {
  const { spec, annotations } = placeServer(settings.placement, run.compute)
  const ports = withPassthrough(run.ports, hostPorts)
  return assemblePod({
    owner: world,
    world,
    runId: run.id,
    tenant: tenantOf(world, run, policy),
    settings,
    policy,
    name: world.metadata.name,
    labels: serverLabels(world, run, policy),
    annotations: { ...annotations, [digestAnnotation]: capturedDigest(run) },
    spec,
    stopGraceSeconds: settings.stopGraceSeconds,
    tmpSizeLimit: '256Mi',
    storageLimit: '512Mi',
    container: {
      name: 'server',
      image: run.image,
      args: run.args,
      env: environment(world, run, ports),
      ports: podPorts(ports, hostPorts),
      probes: hasProbes(run) ? serverProbes : undefined,
      resources: resources(run, settings),
    },
  })
}

/** Returns the ports with the host port in place of the containerPort where the policy is Passthrough. */
const withPassthrough = (ports: readonly WorldPort[], hostPorts: readonly number[]): WorldPort[] =>
  ports.map((port) => {
    const containerPort = port.policy === 'Passthrough' ? hostPorts[publicPorts(ports).indexOf(port)] : undefined
    return { ...port, ...withDefined({ containerPort }) }
  })

/**
 * Liveness counts only once the server was ready, because loading a map may block it for minutes. Readiness is checked every
 * second, because players wait for it.
 */
const serverProbes = { startPath: '/readyz', readyEverySeconds: 1, aliveEverySeconds: 10 } as const

const digestAnnotation = `${apiGroup}/run-digest`

/** Reports whether the pod was built from a run with the same id and the same settings. */
export const isBuiltFrom = (pod: Pod, run: WorldRun): boolean =>
  pod.metadata.annotations?.[digestAnnotation] === capturedDigest(run)

/** Returns a digest of the settings that a pod is built from, without the tenant, the times and the counts of the run. */
const capturedDigest = (run: WorldRun): string => digestOf(capturedRunFields.map((field) => run[field]))

/** Returns the labels of the pod and the service of a run. */
export const serverLabels = (world: World, run: WorldRun, policy: NamespacePolicy): Record<string, string> => ({
  ...commonLabels({ owner: world, world, runId: run.id, tenant: tenantOf(world, run, policy) }),
  [labels.name]: 'world-server',
  ...podSelectors.servers,
})

const environment = (world: World, run: WorldRun, ports: readonly WorldPort[]): Record<string, string | undefined> => ({
  ...Object.fromEntries(
    Object.entries(runtimeSettings.parse(run)).flatMap(([setting, value]) =>
      typeof value === 'string' ? [[settingVariable(setting), value]] : [],
    ),
  ),
  ORRERY_CAPACITY: String(run.capacity),
  ORRERY_DURATION_MINUTES: world.spec.durationMinutes?.toString(),
  ORRERY_SCALING_PROFILE: run.profile,
  ORRERY_CONTENT_ID: run.contentId,
  ORRERY_PORT: publicPorts(ports)[0]?.containerPort.toString(),
  ...Object.fromEntries(ports.map(({ name, containerPort }) => [portVariable(name), String(containerPort)])),
})

/** Returns the environment variable with the number of a port: `ORRERY_PORT_RCON_TLS` for `rcon-tls`. */
const portVariable = (name: string): string => `ORRERY_PORT_${name.replaceAll('-', '_').toUpperCase()}`

const resources = (run: WorldRun, settings: WorldSettings) => {
  // Older operators captured runs without resources.
  const { memoryLimit, cpuLimit, memoryRequest, cpuRequest } = run.resources ?? profileResources(run.profile, settings)
  return { limits: { memory: memoryLimit, cpu: cpuLimit }, requests: { memory: memoryRequest, cpu: cpuRequest } }
}
