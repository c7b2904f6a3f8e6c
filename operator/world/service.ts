import type { Diagnosis } from '#operator/refusal.ts'
import { controllerOf, type KubeObject, type ObjectMeta, ownerReference } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { nodeAddress } from './node.ts'
import { gamePort, serverLabels } from './pod.ts'
import type { PlanInput, Step } from './step.ts'

/** The part of a Service that the operator reads. */
export type Service = {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  spec?: { type?: string; clusterIP?: string; ports?: { port: number; protocol?: string; nodePort?: number }[] }
  status?: { loadBalancer?: { ingress?: { ip?: string; hostname?: string }[] } }
}

type Address = { readonly host: string; readonly port: number }
/** What the network of a run needs done, and its address or why there is none yet. */
export type Network = {
  readonly steps: readonly Step[]
  readonly address?: Address
  readonly missing?: Diagnosis
}

/**
 * The service of a run, named after its world: the game port over TCP and UDP, to the pod of that run alone. Traffic
 * stays on the node where it arrives, so that a server sees its players' own addresses.
 */
export const buildService = (world: World, run: WorldRun): KubeObject & { spec: object } => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name: world.metadata.name,
    ...(world.metadata.namespace === undefined ? {} : { namespace: world.metadata.namespace }),
    labels: serverLabels(world, run),
    ownerReferences: [ownerReference(world)],
  },
  spec: {
    type: run.strategy,
    selector: { [labels.world]: world.metadata.name, [labels.run]: run.id },
    ports: (['TCP', 'UDP'] as const).map((protocol) => ({
      name: `game-${protocol.toLowerCase()}`,
      port: gamePort,
      targetPort: gamePort,
      protocol,
    })),
    ...(run.strategy === 'ClusterIP' ? {} : { externalTrafficPolicy: 'Local' }),
  },
})

/** Plans the network of a run that is under way: its service, if its strategy has one, and its address. */
export const planNetwork = (input: PlanInput, run: WorldRun): Network => {
  const { world, service, pod } = input
  if (run.strategy === 'Default') {
    const host = pod?.status?.podIP
    const steps = removeService(input)
    if (host !== undefined) return { steps, address: { host, port: gamePort } }
    return { steps, missing: waiting('waiting for the address of the server') }
  }
  if (service === undefined) {
    return { steps: [{ verb: 'createService', run }], missing: waiting('waiting for the service of the world') }
  }
  if (controllerOf(service)?.uid !== world.metadata.uid) {
    return { steps: [], missing: serviceNameTaken(world.metadata.name) }
  }
  if (service.metadata.deletionTimestamp !== undefined) {
    const holders = (service.metadata.finalizers ?? []).join(', ')
    const by = holders === '' ? '' : `, which ${holders} holds`
    return { steps: [], missing: waiting(`waiting for the service of the previous run to go${by}`) }
  }
  if (service.metadata.labels?.[labels.run] !== run.id || service.spec?.type !== run.strategy) {
    return { steps: removeService(input), missing: waiting('waiting for the service of the previous run to go') }
  }
  const address = addressOf(input, service)
  return 'host' in address ? { steps: [], address } : { steps: [], missing: address }
}

/** Deletes the world's service where there is one that does not go already. */
export const removeService = ({ world, service }: PlanInput): Step[] =>
  service !== undefined &&
  controllerOf(service)?.uid === world.metadata.uid &&
  service.metadata.deletionTimestamp === undefined
    ? [{ verb: 'deleteService', service }]
    : []

const addressOf = ({ node }: PlanInput, { spec, status }: Service): Address | Diagnosis => {
  switch (spec?.type) {
    case 'NodePort': {
      const port = spec.ports?.find(({ nodePort }) => nodePort !== undefined)?.nodePort
      const host = nodeAddress(node)
      return host !== undefined && port !== undefined
        ? { host, port }
        : waiting("waiting for the address of the server's node")
    }
    case 'LoadBalancer': {
      const ingress = status?.loadBalancer?.ingress?.[0]
      const host = ingress?.ip ?? ingress?.hostname
      if (host !== undefined) return { host, port: gamePort }
      return {
        reason: 'LoadBalancerPending',
        message: 'waiting for the load balancer to have an address',
        serious: false,
      }
    }
    default: {
      const host = spec?.clusterIP
      const usable = host !== undefined && host !== '' && host !== 'None'
      return usable ? { host, port: gamePort } : waiting('waiting for the address of the service')
    }
  }
}

const waiting = (message: string): Diagnosis => ({ reason: 'AddressPending', message, serious: false })

/** What is said where a stranger's service bears the world's name. */
export const serviceNameTaken = (name: string): Diagnosis => ({
  reason: 'ServiceNameTaken',
  message: `the service ${name} belongs to something else: delete it, and the world's own is made`,
  serious: true,
})
