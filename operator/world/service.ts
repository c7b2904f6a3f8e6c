import { type Diagnosis, pendingDiagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { patchMap } from '#operator/pods/labels.ts'
import { nodeAddress } from '#operator/pods/node.ts'
import { ownedMetadata, runIdOf } from '#operator/pods/pod.ts'
import type { Service, ServicePort } from '#operator/pods/service.ts'
import { protocolsOf, publicPorts, type WorldPort } from '#shared/domain/ports.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import { type PodLabels, podSelectors } from '#shared/resources/selectors.ts'
import type { World, WorldAddress, WorldRun } from '#shared/resources/world.ts'
import { runIdIn } from './observe.ts'
import { placeService } from './placement.ts'
import { serverLabels } from './pod.ts'
import type { WorldSettings } from './settings.ts'
import type { PlanInput, Step } from './step.ts'

/** The steps for the network of a run, its addresses, and why there are none, or why they are the last ones that were known. */
export type Network = {
  readonly steps: readonly Step[]
  readonly requeueAfterMs?: number
  readonly addresses?: WorldAddress[]
  readonly missing?: Diagnosis
}
type Found = Pick<Network, 'addresses' | 'missing'>

/**
 * Builds the service of a run, with the world's name: its public ports, to the pod of that run only. The placement sets what is
 * particular to a cluster.
 */
export const buildService = (
  world: World,
  run: WorldRun,
  { placement }: Pick<WorldSettings, 'placement'>,
  policy: NamespacePolicy = {},
): Service & { spec: object } => {
  const placed = placeService(placement, run.compute, run.strategy)
  const names = { owner: world, name: world.metadata.name, labels: serverLabels(world, run, policy) }
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata({ ...names, annotations: placed.annotations }),
    spec: {
      type: run.strategy,
      selector: selectorOf(world, run),
      ports: servicePortsOf(run),
      ...placed.spec,
    },
  }
}

/** Returns the ports of the service of a run: one for each protocol of each public port. */
export const servicePortsOf = ({ ports }: Pick<WorldRun, 'ports'>): ServicePort[] =>
  publicPorts(ports).flatMap((port) =>
    protocolsOf(port).map((protocol) => ({
      name: `${port.name}-${protocol.toLowerCase()}`,
      port: port.containerPort,
      targetPort: port.containerPort,
      protocol,
    })),
  )

const selectorOf = (world: World, run: WorldRun): PodLabels => podSelectors.serverOf(world.metadata.name, run.id)

/** Plans the network of a run that is under way: its service, if its strategy has one, and its addresses. */
export const planNetwork = (input: PlanInput, run: WorldRun): Network => {
  const { world, service, pod } = input
  if (run.strategy === 'Default') {
    const host = pod?.status?.podIP
    const removal = replaceService(input, run)
    if (host !== undefined) return { ...removal, ...addressesAt(host, run) }
    return { ...removal, missing: addressPending('Waiting for the address of the server.') }
  }
  if (service === undefined) {
    return { steps: [{ verb: 'createService', run }], missing: addressPending('Waiting for the service of the world.') }
  }
  if (controllerOf(service)?.uid !== world.metadata.uid) {
    return { steps: [], missing: serviceNameTaken(world.metadata.name) }
  }
  if (service.metadata.deletionTimestamp !== undefined) {
    const finalizers = (service.metadata.finalizers ?? []).join(', ')
    const holder = finalizers === '' ? '' : ` Finalizer ${finalizers} holds it.`
    return { steps: [], missing: addressPending(`${previousService}${holder}`) }
  }
  if (!isServiceOf(service, run.id) || service.spec?.type !== run.strategy) {
    return { ...replaceService(input, run), missing: addressPending(previousService) }
  }
  const spec = repairSpec(service.spec, selectorOf(world, run), servicePortsOf(run))
  const steps: Step[] = spec === undefined ? [] : [{ verb: 'repairService', service, patch: { spec } }]
  return { steps, ...addressesOf(input, run, service) }
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

const addressPending = (message: string): Diagnosis => pendingDiagnosis('AddressPending', message)
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

/** Returns the addresses of the public ports at a host, or undefined if the number of a port is not known yet. */
const addressesAt = (
  host: string,
  run: WorldRun,
  numberOf: (port: WorldPort) => number | undefined = ({ containerPort }) => containerPort,
): { addresses: WorldAddress[] } | undefined => {
  const addresses = publicPorts(run.ports).flatMap((port) => {
    const number = numberOf(port)
    return number === undefined ? [] : [{ name: port.name, protocol: port.protocol, host, port: number }]
  })
  return addresses.length === publicPorts(run.ports).length ? { addresses } : undefined
}

const addressesOf = ({ world: { status }, pod, node, settings }: PlanInput, run: WorldRun, service: Service): Found => {
  const isSameServer = status?.run?.id === run.id && status.deployment?.externalId === pod?.metadata.uid
  const last = isSameServer ? status.addresses : undefined
  // An address of a running server may be missing for a moment, and its players still reach the last one.
  const lastOr = (missing: Diagnosis, numberOf?: (port: WorldPort) => number | undefined): Found => {
    if (last?.[0] === undefined) return { missing }
    const addresses = addressesAt(last[0].host, run, numberOf)?.addresses ?? last
    return { addresses, missing: seriousDiagnosis('AddressMissing', `${missing.message} Its last address is shown.`) }
  }
  switch (service.spec?.type) {
    case 'NodePort': {
      const nodePortOf = findNodePort(service)
      const found = nodeAddress(node, settings.nodeAddressTypes)
      if ('fault' in found)
        return lastOr(addressPending(`Waiting for the address of the server's node: ${found.fault}.`), nodePortOf)
      const pending = addressPending('Waiting for the node ports of the service.')
      return addressesAt(found.host, run, nodePortOf) ?? lastOr(pending, nodePortOf)
    }
    case 'LoadBalancer': {
      const ingress = service.status?.loadBalancer?.ingress?.[0]
      const host = ingress?.ip ?? ingress?.hostname
      const pending = pendingDiagnosis('LoadBalancerPending', 'Waiting for the load balancer to get an address.')
      return (host === undefined ? undefined : addressesAt(host, run)) ?? lastOr(pending)
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
  ({ spec }: Service) =>
  (port: WorldPort): number | undefined =>
    spec?.ports?.find(
      ({ port: number, protocol = 'TCP' }) =>
        number === port.containerPort && protocolsOf(port).some((each) => each === protocol),
    )?.nodePort

/** The diagnosis of a service name that a stranger uses. */
export const serviceNameTaken = (name: string): Diagnosis =>
  seriousDiagnosis(
    'ServiceNameTaken',
    `Service ${name} belongs to another owner. Delete it, so that the world's service can be created.`,
  )
