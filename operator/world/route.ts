import { type Diagnosis, pendingDiagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { HttpRoute, NewRoute, ParentRef } from '#operator/pods/httpRoute.ts'
import type { Service } from '#operator/pods/service.ts'
import type { Gateway, RouteUrl } from '#shared/domain/gateway.ts'
import { publicPorts } from '#shared/domain/ports.ts'
import { type Condition, controllerOf } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { labels } from '#shared/resources/group.ts'
import type { WorldAddress, WorldRun } from '#shared/resources/world.ts'
import { remedies } from '#shared/why/remedies.ts'
import { heldBy, lastAddressesOr, type Network } from './addresses.ts'
import { serverLabels } from './pod.ts'
import type { PlanInput, Step } from './step.ts'

/** The age of a route until which an answer of the Gateway is waited for, and a refusal may be of a service that it does not see yet. */
const answerMs = 10_000

/** The diagnosis of a world whose cluster has no Gateway. */
export const routeNotAvailable: Diagnosis = seriousDiagnosis(
  'RouteNotAvailable',
  `The cluster of the world has no Gateway. ${remedies.RouteNotAvailable}`,
)

/** The delay after which a running world without a route looks for the definition of routes again. */
const servedRetryMs = 30_000

/** Plans the route of a run to its service, and the address at the Gateway. `steps` are those of the service. */
export const planRoute = (input: PlanInput, run: WorldRun, service: Service, steps: readonly Step[]): Network => {
  const { route, settings } = input
  if (settings.route === undefined || route === 'unserved') {
    return { steps, ...lastAddressesOr(input, run, routeNotAvailable), requeueAfterMs: servedRetryMs }
  }
  const { gateway, url } = settings.route
  const wanted = buildRoute(input, run, service, settings.route)
  if (route === undefined) {
    const created = [...steps, { verb: 'createRoute', service, route: wanted } as const]
    return { steps: created, ...lastAddressesOr(input, run, routePending) }
  }
  const foreign = explainForeign(input, route, service)
  if (foreign !== undefined) return { steps, ...lastAddressesOr(input, run, foreign) }
  // The API server may not keep all that is written, so a repair does not hide the answer of the Gateway.
  const repaired = contains(route.spec, wanted.spec)
    ? steps
    : [...steps, { verb: 'repairRoute', route, patch: { spec: wanted.spec } } as const]
  if (isAccepted(route, gateway)) return { steps: repaired, addresses: [addressOf(input, run, url)] }
  const leftMs = answerMs - (input.nowMs - Date.parse(route.metadata.creationTimestamp ?? ''))
  if (leftMs > 0) return { steps: repaired, ...lastAddressesOr(input, run, routePending), requeueAfterMs: leftMs }
  return { steps: repaired, ...lastAddressesOr(input, run, explainRefusal(route, gateway)) }
}

const routePending = pendingDiagnosis('RoutePending', 'Waiting for the Gateway to accept the route of the world.')

/** Returns the host name of a world. It has the id, because worlds of two organizations can have one name. */
const hostOf = ({ world, policy }: PlanInput, run: WorldRun, { domain }: RouteUrl): string =>
  `${serverLabels(world, run, policy)[labels.worldId]}.${domain}`

const addressOf = (input: PlanInput, run: WorldRun, url: RouteUrl): WorldAddress => {
  const host = hostOf(input, run, url)
  const authority = url.port === (url.scheme === 'wss' ? 443 : 80) ? host : `${host}:${url.port}`
  const name = publicPorts(run.ports)[0]?.name ?? ''
  return { name, protocol: 'TCP', host, port: url.port, url: `${url.scheme}://${authority}` }
}

/** Builds the route of a run: from its host name at the Gateway to its service, which owns the route. */
const buildRoute = (
  input: PlanInput,
  run: WorldRun,
  { metadata: { name, namespace, uid = '' } }: Service,
  { gateway, url }: { readonly gateway: Gateway; readonly url: RouteUrl },
): NewRoute => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata: {
    name,
    ...withDefined({ namespace }),
    labels: serverLabels(input.world, run, input.policy),
    ownerReferences: [{ apiVersion: 'v1', kind: 'Service', name, uid, controller: true }],
  },
  spec: {
    parentRefs: [
      {
        group: 'gateway.networking.k8s.io',
        kind: 'Gateway',
        namespace: gateway.namespace,
        name: gateway.name,
        sectionName: gateway.listener,
      },
    ],
    hostnames: [hostOf(input, run, url)],
    // No timeouts, which some controllers refuse, and no appProtocol: each has its own policies for WebSockets.
    rules: [{ backendRefs: [{ group: '', kind: 'Service', name, port: publicPorts(run.ports)[0]?.containerPort }] }],
  },
})

/** Returns why a route is not that of the service, or undefined if it is. */
const explainForeign = ({ world }: PlanInput, { metadata }: HttpRoute, service: Service): Diagnosis | undefined => {
  const { name } = world.metadata
  const owner = controllerOf({ metadata })
  const isOwn = owner?.uid === service.metadata.uid
  if (isOwn && metadata.deletionTimestamp === undefined) return undefined
  // The garbage collector deletes the route of a service that is gone.
  if (isOwn || (owner?.kind === 'Service' && owner.name === name)) {
    return pendingDiagnosis('RoutePending', `Waiting for the deletion of an older route.${heldBy(metadata)}`)
  }
  return routeNameTaken(name)
}

/** The diagnosis of a route name that a stranger uses. */
export const routeNameTaken = (name: string): Diagnosis =>
  seriousDiagnosis(
    'RouteNameTaken',
    `HTTPRoute ${name} belongs to another owner. Ask the platform operator to delete it.`,
  )

/** Reports whether a value has all of another one. It may have more fields, such as the defaults of a definition. */
const contains = (present: unknown, wanted: unknown): boolean => {
  if (typeof wanted !== 'object' || wanted === null) return present === wanted
  if (typeof present !== 'object' || present === null) return false
  if (Array.isArray(wanted) && (!Array.isArray(present) || present.length !== wanted.length)) return false
  return Object.entries(wanted).every(([key, value]) => contains(Reflect.get(present, key), value))
}

/**
 * Returns the conditions that controllers of the Gateway gave the route, each list from one answer. An answer counts until the next one,
 * so that a changed route does not cut off players.
 */
const answersOf = (
  { metadata, status }: HttpRoute,
  { namespace, name, listener }: Gateway,
): (readonly Condition[])[] => {
  const isGateway = ({ parentRef: ref }: { parentRef: ParentRef }): boolean =>
    ref.name === name &&
    (ref.namespace ?? metadata.namespace) === namespace &&
    (listener === undefined || ref.sectionName === listener)
  return (status?.parents ?? []).filter(isGateway).map(({ conditions = [] }) => conditions)
}

const neededConditions = ['Accepted', 'ResolvedRefs'] as const

const isAccepted = (route: HttpRoute, gateway: Gateway): boolean =>
  answersOf(route, gateway).some((conditions) =>
    neededConditions.every((needed) => conditions.some(({ type, status }) => type === needed && status === 'True')),
  )

const explainRefusal = (route: HttpRoute, gateway: Gateway): Diagnosis => {
  const conditions = answersOf(route, gateway).flat()
  const refusal = neededConditions
    .map((needed) => conditions.find(({ type, status }) => type === needed && status !== 'True'))
    .find((condition) => condition !== undefined)
  const detail = refusal && `${refusal.reason}: ${refusal.message}`
  return seriousDiagnosis('RouteNotAccepted', `${sentenceOf(refusal)} ${remedies.RouteNotAccepted}`, detail)
}

const sentenceOf = (refusal: Condition | undefined): string => {
  if (refusal === undefined) {
    return `The Gateway has not answered for ${answerMs / 1_000} seconds. It must exist, and its controller must run.`
  }
  if (refusal.reason === 'NotAllowedByListeners') {
    return `The Gateway does not admit the namespace of the world. Its listener needs allowedRoutes.namespaces with a selector for the label ${labels.organization}.`
  }
  return refusal.type === 'Accepted'
    ? 'The Gateway does not accept the route of the world.'
    : 'The Gateway cannot use the service of the world.'
}
