import * as z from 'zod'
import type { NewPod } from '#operator/pods/pod.ts'
import { computeGroups, computeRegions, type serviceTypes } from '#shared/enumerations.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { withDefined } from '#shared/optional.ts'
import { type ParseResult, withErrors } from '#shared/parseResult.ts'
import { type PortPool, parseRange, rangePattern, toPoolAnnotation } from './portPools.ts'

const like = (pattern: keyof typeof namePatterns, max: number) =>
  z.string().max(max).regex(new RegExp(namePatterns[pattern]))
const labelKey = () => like('labelKey', 317)
const labelValue = () => like('labelValue', 63)
const objectName = () => like('object', 253)

const toleration = z
  .strictObject({
    key: labelKey().exactOptional(),
    operator: z.enum(['Exists', 'Equal']).exactOptional(),
    value: labelValue().exactOptional(),
    effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).exactOptional(),
    tolerationSeconds: z.int().min(0).exactOptional(),
  })
  .refine(({ operator, value }) => operator !== 'Exists' || !value, 'must have no value with the operator Exists')
  .refine(({ operator, key }) => operator === 'Exists' || key !== undefined, 'must have a key, or the operator Exists')
  .refine(
    ({ effect, tolerationSeconds }) => tolerationSeconds === undefined || effect === 'NoExecute',
    'must have the effect NoExecute with tolerationSeconds',
  )

/** The range of ports of the load balancers that share their addresses, under a name. */
const sharing = z
  .strictObject({
    pool: like('dnsLabel', 63),
    ports: z.string().regex(rangePattern, 'must be a range such as 7000-7999').transform(withErrors(parseRange)),
  })
  .transform(({ pool, ports }): PortPool => ({ name: pool, ...ports }))

/** Settings of the Services of type NodePort and LoadBalancer, which a cloud or a load balancer controller reads. */
const service = z
  .strictObject({
    annotations: z.record(labelKey(), z.string().max(4096)).default({}),
    loadBalancerClass: labelKey().exactOptional(),
    allocateNodePorts: z.boolean().exactOptional(),
    externalTrafficPolicy: z.enum(['Local', 'Cluster']).default('Local'),
    sharing: sharing.exactOptional(),
  })
  .refine(
    ({ sharing: shared, externalTrafficPolicy }) => shared === undefined || externalTrafficPolicy === 'Cluster',
    'must have externalTrafficPolicy Cluster with sharing: a load balancer shares an address only with this policy',
  )

/** A placement of servers in the configuration. */
export const placementSchema = z.strictObject({
  group: z.enum(computeGroups).exactOptional(),
  region: z.enum(computeRegions).exactOptional(),
  nodeLabels: z.record(labelKey(), labelValue()).default({}),
  tolerations: z.array(toleration).max(32).default([]),
  priorityClassName: objectName().exactOptional(),
  runtimeClassName: objectName().exactOptional(),
  safeToEvict: z.boolean().exactOptional(),
  service: service.exactOptional(),
})

/** The placement of servers of a group and a region. An entry without one of the two matches all of its values. */
export type Placement = z.output<typeof placementSchema>
type Compute = { readonly group: string; readonly region: string }

/** Parses a JSON list of placements. The first entry that matches counts. */
export const parsePlacement = (text: string): ParseResult<readonly Placement[]> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return {
      errors: [
        'must be JSON: a list of {group, region, nodeLabels, tolerations, priorityClassName, runtimeClassName, safeToEvict, service}',
      ],
    }
  }
  const result = z.array(placementSchema).max(64).safeParse(json)
  if (result.success) return { value: result.data }
  return { errors: result.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`) }
}

/** The parts of a server's pod that its placement decides. */
type PlacedParts = { readonly spec: Partial<NewPod['spec']>; readonly annotations: Readonly<Record<string, string>> }

/**
 * The annotations by which Cluster Autoscaler and Karpenter leave a node alone while the pod runs there. Otherwise they remove a
 * node with players as soon as its pods fit elsewhere.
 */
const keepNode = {
  'cluster-autoscaler.kubernetes.io/safe-to-evict': 'false',
  'karpenter.sh/do-not-disrupt': 'true',
}

const findPlacement = (placements: readonly Placement[], compute: Compute | undefined): Placement | undefined =>
  placements.find(
    ({ group, region }) =>
      (group === undefined || group === compute?.group) && (region === undefined || region === compute?.region),
  )

/** The parts of a Service that its placement decides. */
type PlacedService = {
  readonly spec: object
  readonly annotations: Readonly<Record<string, string>>
  /** The pool of its ports, if it shares its address. */
  readonly pool?: PortPool
}

/**
 * Returns the parts of a world's Service that follow from the first placement that matches. Traffic from outside is not forwarded
 * between nodes unless the placement says so, because the server would not see the addresses of its players.
 */
export const placeService = (
  placements: readonly Placement[],
  compute: Compute | undefined,
  type: (typeof serviceTypes)[number] | undefined,
): PlacedService => {
  if (type === undefined || type === 'ClusterIP') return { spec: {}, annotations: {} }
  const placed = findPlacement(placements, compute)?.service ?? service.parse({})
  const { annotations, loadBalancerClass, allocateNodePorts, externalTrafficPolicy } = placed
  if (type !== 'LoadBalancer') return { spec: { externalTrafficPolicy }, annotations }
  const spec = { externalTrafficPolicy, loadBalancerClass, allocateLoadBalancerNodePorts: allocateNodePorts }
  const pool = placed.sharing
  return {
    spec: withDefined(spec),
    annotations: { ...annotations, ...(pool && toPoolAnnotation(pool)) },
    ...withDefined({ pool }),
  }
}

/** Returns the parts of a server's pod that follow from the first placement that matches. */
export const placeServer = (placements: readonly Placement[], compute: Compute | undefined): PlacedParts => {
  const match = findPlacement(placements, compute)
  if (match === undefined) return { spec: {}, annotations: keepNode }
  const spec = withDefined({
    nodeSelector: Object.keys(match.nodeLabels).length === 0 ? undefined : match.nodeLabels,
    tolerations: match.tolerations.length === 0 ? undefined : match.tolerations,
    priorityClassName: match.priorityClassName,
    runtimeClassName: match.runtimeClassName,
  })
  return { spec, annotations: match.safeToEvict ? {} : keepNode }
}
