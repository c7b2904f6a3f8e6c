import { type Diagnosis, pendingDiagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { patchMap } from '#operator/pods/labels.ts'
import { nodeAddress } from '#operator/pods/node.ts'
import { ownedMetadata, runIdOf } from '#operator/pods/pod.ts'
import type { Service, ServicePort } from '#operator/pods/service.ts'
import {
  findHostPort,
  hasService,
  type Protocol,
  protocolsOf,
  publicPorts,
  serviceTypeOf,
  type WorldPort,
} from '#shared/domain/ports.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { type PodLabels, podSelectors } from '#shared/resources/selectors.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { remedies } from '#shared/why/remedies.ts'
import {
  addressesAt,
  addressPending,
  type Found,
  heldBy,
  lastAddressesOr,
  type Network,
  type NumberOf,
} from './addresses.ts'
import { runIdIn } from './observe.ts'
import { placeService } from './placement.ts'
import { serverLabels } from './pod.ts'
import { type AllottedPorts, ingressHostOf, poolNameOf } from './portPools.ts'
import { planRoute } from './route.ts'
import type { WorldSettings } from './settings.ts'
import type { PlanInput, Step } from './step.ts'

/**
 * Builds the service of a run, with the world's name: its public ports, to the pod of that run only. The placement sets what is
 * particular to a cluster. `numbers` has the port of each public port, if the service shares its address.
 */
export const buildService = (
  world: World,
  run: WorldRun,
  { placement }: Pick<WorldSettings, 'placement'>,
  policy: NamespacePolicy = {},
  numbers?: readonly number[],
): Service & { spec: object } => {
  const type = serviceTypeOf(run.strategy)
  const placed = placeService(placement, run.compute, type)
  const names = { owner: world, name: world.metadata.name, labels: serverLabels(world, run, policy) }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata({ ...names, annotations: placed.annotations }),
    spec: {
      ...withDefined({ type }),
      selector: selectorOf(world, run),
      ports: servicePortsOf(run, numbers),
      ...placed.spec,
    },
  }
}

/**
 * Returns the ports of the service of a run: one for each protocol of each public port that players reach through it. Their numbers
 * are those of the container unless `numbers` has others.
 */
export const servicePortsOf = (
  { ports, strategy }: Pick<WorldRun, 'ports'> & Partial<Pick<WorldRun, 'strategy'>>,
  numbers: readonly number[] = [],
): ServicePort[] =>
  publicPorts(ports).flatMap((port, at) =>
    protocolsOf(port)
      .filter((protocol) => strategy !== 'Route' || protocol === 'TCP')
      .map((protocol) => ({
        name: servicePortName(port, protocol),
        port: numbers[at] ?? port.containerPort,
        targetPort: port.containerPort,
        protocol,
      })),
  )

const servicePortName = ({ name }: WorldPort, protocol: Protocol): string => `${name}-${protocol.toLowerCase()}`

const selectorOf = (world: World, run: WorldRun): PodLabels => podSelectors.serverOf(world.metadata.name, run.id)

/** Plans the network of a run that is under way: its service, if its strategy has one, and its addresses. */
export const planNetwork = (input: PlanInput, run: WorldRun): Network => {
  const { world, service, pod } = input
  if (!hasService(run.strategy)) {
    const removal = replaceService(input, run)
    if (run.strategy === 'HostPort') return { ...removal, ...hostAddressesOf(input, run) }
    const host = pod?.status?.podIP
    if (host !== undefined) return { ...removal, ...addressesAt(host, run) }
    return { ...removal, missing: addressPending('Waiting for the address of the server.') }
  }
  if (service === undefined) {
    const numbers = sharedPortsOf(input, run, service)?.numbers
    const missing = addressPending('Waiting for the service of the world.')
    return { steps: [{ verb: 'createService', run, ...withDefined({ numbers }) }], missing }
  }
  if (controllerOf(service)?.uid !== world.metadata.uid) {
    return { steps: [], missing: serviceNameTaken(world.metadata.name) }
  }
  if (service.metadata.deletionTimestamp !== undefined) {
    return { steps: [], missing: addressPending(`${previousService}${heldBy(service.metadata)}`) }
  }
  if (!isServiceOf(service, run.id) || service.spec?.type !== serviceTypeOf(run.strategy)) {
    return { ...replaceService(input, run), missing: addressPending(previousService) }
  }
  const shared = sharedPortsOf(input, run, service)
  const spec = repairSpec(service.spec ?? {}, selectorOf(world, run), servicePortsOf(run, shared?.numbers))
  const steps: Step[] = spec === undefined ? [] : [{ verb: 'repairService', service, patch: { spec } }]
  if (run.strategy === 'Route') return planRoute(input, run, service, steps)
  const found = addressesOf(input, run, service, shared)
  return { steps, ...found, ...(shared?.isCrowded ? { requeueAfterMs: crowdedRetryMs } : {}) }
}

/** The age of a service until which a further address is waited for, and the delay after which free ports are looked for again. */
const crowdedRetryMs = 5_000

/**
 * Returns the ports of a service that shares its address, or undefined if it shares none. Ports that players were told stay for the
 * run, also at a load balancer that is not shared. Until there is an address, the pool decides.
 */
const sharedPortsOf = (
  { world: { status }, settings, allotPorts }: PlanInput,
  run: WorldRun,
  service: Service | undefined,
): AllottedPorts | undefined => {
  if (run.strategy !== 'LoadBalancer') return undefined
  const told = status?.run?.id === run.id ? status.addresses : undefined
  const numbers = numbersBy(run, (port) => told?.find(({ name }) => name === port.name)?.port)
  if (numbers !== undefined) return { numbers, isCrowded: false }
  const { pool } = placeService(settings.placement, run.compute, run.strategy)
  const name = service === undefined ? pool?.name : poolNameOf(service)
  if (name === undefined) return undefined
  const present = service && numbersBy(run, (port) => findServicePort(service, port)?.port)
  const isSettled = run.readyAt !== undefined || (service && ingressHostOf(service)) !== undefined
  if (present !== undefined && (isSettled || pool?.name !== name)) return { numbers: present, isCrowded: false }
  return pool?.name === name ? allotPorts({ pool, count: publicPorts(run.ports).length, present }) : undefined
}

/** Returns the number of each public port, or undefined if one has none. */
const numbersBy = (run: WorldRun, numberOf: (port: WorldPort) => number | undefined): number[] | undefined => {
  const numbers = publicPorts(run.ports).flatMap((port) => numberOf(port) ?? [])
  return numbers.length === publicPorts(run.ports).length ? numbers : undefined
}

/** Returns what to put back of a selector and ports that others changed, or undefined. */
const repairSpec = (present: NonNullable<Service['spec']>, selector: PodLabels, ports: ServicePort[]) => {
  const others = Object.fromEntries(Object.keys(present.selector ?? {}).map((key) => [key, undefined]))
  const changed = patchMap(present.selector, { ...others, ...selector })
  const isSame = (one: ServicePort, other: ServicePort | undefined): boolean =>
    (['name', 'port', 'targetPort', 'protocol'] as const).every((field) => one[field] === other?.[field])
  const hasPorts =
    present.ports?.length === ports.length && ports.every((port, at) => isSame(port, present.ports?.[at]))
  if (changed === undefined && hasPorts) return undefined
  return { ...withDefined({ selector: changed }), ...(hasPorts ? {} : { ports }) }
}

/** Reports whether a Service is of that run by its label or its selector. One of them may have been changed. */
export const isServiceOf = (service: Service, runId: string): boolean =>
  [runIdOf(service), service.spec?.selector?.[labels.run]].includes(runId)

const previousService = 'Waiting for the deletion of the service of the previous run.'

/**
 * The time for which a service outlives its server. A moment after the server is gone, kube-proxy removes it from the UDP connections
 * that a node tracks, but only while the service exists and has a placeholder. Otherwise a player who goes on sending would reach the
 * pod that gets the address of the server next, which may be another tenant's.
 */
const outlivesServerMs = 5_000

/** The removal of a service: the next step, or the delay after which there is one. */
type Removal = { readonly steps: readonly Step[]; readonly requeueAfterMs?: number }

/** Plans the removal of the world's service some time after the end of its server. Returns undefined if no service is left. */
export const releaseService = (input: PlanInput): Removal | undefined => {
  const service = findOwnService(input)
  if (service === undefined) return undefined
  const leftMs = outlivesServerMs - input.serviceUnusedMs
  return leftMs > 0
    ? { steps: [{ verb: 'addPlaceholders', service }], requeueAfterMs: leftMs }
    : { steps: [{ verb: 'deleteService', service }] }
}

/** Plans the removal of a service that the run does not use. While the server of the run is left, no other pod gets its address. */
const replaceService = (input: PlanInput, run: WorldRun): Removal => {
  const service = findOwnService(input)
  return service !== undefined && isServiceOf(service, run.id)
    ? { steps: [{ verb: 'deleteService', service }] }
    : (releaseService(input) ?? { steps: [] })
}

/** Returns the world's service unless it is being deleted. */
const findOwnService = ({ world, service }: PlanInput): Service | undefined =>
  service !== undefined &&
  controllerOf(service)?.uid === world.metadata.uid &&
  service.metadata.deletionTimestamp === undefined
    ? service
    : undefined

/** Reports whether the pod that the service was made for is left. */
export const isServiceUsed = ({ world, service, pod }: Pick<PlanInput, 'world' | 'service' | 'pod'>): boolean => {
  if (service === undefined || pod === undefined || controllerOf(pod)?.uid !== world.metadata.uid) return false
  const runId = runIdIn(world, pod)
  return runId !== undefined && isServiceOf(service, runId)
}

/** Returns the addresses of ports of the server's node. */
const nodeAddressesOf = (input: PlanInput, run: WorldRun, numberOf: NumberOf, pending: Diagnosis): Found => {
  const found = nodeAddress(input.node, input.settings.nodeAddressTypes)
  const missing =
    'fault' in found ? addressPending(`Waiting for the address of the server's node: ${found.fault}.`) : pending
  const addresses = 'host' in found ? addressesAt(found.host, run, numberOf) : undefined
  return addresses ?? lastAddressesOr(input, run, missing, numberOf)
}

const hostAddressesOf = (input: PlanInput, run: WorldRun): Found => {
  const present = input.pod?.spec?.containers?.flatMap(({ ports = [] }) => ports) ?? []
  const pending = addressPending('Waiting for the host ports of the server.')
  return nodeAddressesOf(input, run, (port) => findHostPort(run.ports, port, present), pending)
}

const addressesOf = (input: PlanInput, run: WorldRun, service: Service, shared: AllottedPorts | undefined): Found => {
  switch (service.spec?.type) {
    case 'NodePort': {
      const pending = addressPending('Waiting for the node ports of the service.')
      return nodeAddressesOf(input, run, findNodePort(service), pending)
    }
    case 'LoadBalancer': {
      const host = ingressHostOf(service)
      const numberOf = (port: WorldPort) => shared?.numbers[publicPorts(run.ports).indexOf(port)] ?? port.containerPort
      const isNew = input.nowMs - Date.parse(service.metadata.creationTimestamp ?? '') < crowdedRetryMs
      const pending = shared?.isCrowded === true && !isNew ? portsExhausted : loadBalancerPending
      return (
        (host === undefined ? undefined : addressesAt(host, run, numberOf)) ??
        lastAddressesOr(input, run, pending, numberOf)
      )
    }
    default: {
      const host = service.spec?.clusterIP
      const isUsable = host !== undefined && host !== '' && host !== 'None'
      const pending = { missing: addressPending('Waiting for the address of the service.') }
      return (isUsable ? addressesAt(host, run) : undefined) ?? pending
    }
  }
}

/** Returns the node port of a port. Kubernetes assigns the same one for TCP and UDP. */
const findNodePort =
  (service: Service) =>
  (port: WorldPort): number | undefined =>
    findServicePort(service, port)?.nodePort

/** Returns the first entry of a service for a port. */
const findServicePort = ({ spec }: Service, port: WorldPort): ServicePort | undefined => {
  const names = protocolsOf(port).map((protocol) => servicePortName(port, protocol))
  return spec?.ports?.find(({ name = '' }) => names.includes(name))
}

const loadBalancerPending = pendingDiagnosis('LoadBalancerPending', 'Waiting for the load balancer to get an address.')
const portsExhausted = seriousDiagnosis(
  'PortsExhausted',
  `The load balancer has no free port for the world. ${remedies.PortsExhausted}`,
)

/** The diagnosis of a service name that a stranger uses. */
export const serviceNameTaken = (name: string): Diagnosis =>
  seriousDiagnosis(
    'ServiceNameTaken',
    `Service ${name} belongs to another owner. Ask the platform operator to delete it.`,
  )
