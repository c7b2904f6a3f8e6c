import * as z from 'zod'
import type { NewPod } from '#operator/pods/pod.ts'
import { computeGroups, computeRegions } from '#shared/enumerations.ts'
import { withDefined } from '#shared/optional.ts'
import type { ParseResult } from '#shared/parseResult.ts'

const toleration = z.strictObject({
  key: z.string().min(1).max(316).exactOptional(),
  operator: z.enum(['Exists', 'Equal']).exactOptional(),
  value: z.string().max(63).exactOptional(),
  effect: z.enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']).exactOptional(),
  tolerationSeconds: z.int().min(0).exactOptional(),
})

const placement = z.strictObject({
  group: z.enum(computeGroups).exactOptional(),
  region: z.enum(computeRegions).exactOptional(),
  nodeLabels: z.record(z.string().min(1).max(316), z.string().max(63)).default({}),
  tolerations: z.array(toleration).max(32).default([]),
  priorityClassName: z.string().min(1).max(253).exactOptional(),
  runtimeClassName: z.string().min(1).max(253).exactOptional(),
  safeToEvict: z.boolean().exactOptional(),
})

/** The placement of servers of a group and a region. An entry without one of the two matches all of its values. */
export type Placement = z.output<typeof placement>
type Compute = { readonly group: string; readonly region: string }

/** Parses a JSON list of placements. The first entry that matches counts. */
export const parsePlacement = (text: string): ParseResult<readonly Placement[]> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return {
      errors: [
        'must be JSON: a list of {group, region, nodeLabels, tolerations, priorityClassName, runtimeClassName, safeToEvict}',
      ],
    }
  }
  const result = z.array(placement).max(64).safeParse(json)
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

/** Returns the parts of a server's pod that follow from the first placement that matches. */
export const placeServer = (placements: readonly Placement[], compute: Compute | undefined): PlacedParts => {
  const match = placements.find(
    ({ group, region }) =>
      (group === undefined || group === compute?.group) && (region === undefined || region === compute?.region),
  )
  if (match === undefined) return { spec: {}, annotations: keepNode }
  const spec = withDefined({
    nodeSelector: Object.keys(match.nodeLabels).length === 0 ? undefined : match.nodeLabels,
    tolerations: match.tolerations.length === 0 ? undefined : match.tolerations,
    priorityClassName: match.priorityClassName,
    runtimeClassName: match.runtimeClassName,
  })
  return { spec, annotations: match.safeToEvict ? {} : keepNode }
}
