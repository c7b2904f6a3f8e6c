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
      errors: ['must be JSON: a list of {group, region, nodeLabels, tolerations, priorityClassName, runtimeClassName}'],
    }
  }
  const result = z.array(placement).max(64).safeParse(json)
  if (result.success) return { value: result.data }
  return { errors: result.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`) }
}

/** Returns the placement of a server as fields of a pod's spec. */
export const placementFields = (
  placements: readonly Placement[],
  compute: Compute | undefined,
): Partial<NewPod['spec']> => {
  const match = placements.find(
    ({ group, region }) =>
      (group === undefined || group === compute?.group) && (region === undefined || region === compute?.region),
  )
  if (match === undefined) return {}
  return withDefined({
    nodeSelector: Object.keys(match.nodeLabels).length === 0 ? undefined : match.nodeLabels,
    tolerations: match.tolerations.length === 0 ? undefined : match.tolerations,
    priorityClassName: match.priorityClassName,
    runtimeClassName: match.runtimeClassName,
  })
}
