import { z } from 'zod'
import { computeGroups, computeRegions } from '#shared/enumerations.ts'

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
})

/** Where servers of a group and a region go. What is left out matches every group, or every region. */
export type Placement = z.output<typeof placement>
type Compute = { readonly group: string; readonly region: string }

/** What was read, or every fault of it as a sentence with its place. */
export type Parsed<T> =
  | { readonly value: T; readonly faults?: undefined }
  | { readonly value?: undefined; readonly faults: readonly string[] }

/** Reads placements from JSON: a list, the first entry that matches counts. */
export const parsePlacement = (text: string): Parsed<readonly Placement[]> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { faults: ['must be JSON: a list of {group, region, nodeLabels, tolerations, priorityClassName}'] }
  }
  const read = z.array(placement).max(64).safeParse(json)
  if (read.success) return { value: read.data }
  return { faults: read.error.issues.map(({ path, message }) => `/${path.join('/')}: ${message}`) }
}

/** The placement of a server, as the fields of a pod's spec. */
export const placementFields = (placements: readonly Placement[], compute: Compute | undefined): object => {
  const found = placements.find(
    ({ group, region }) =>
      (group === undefined || group === compute?.group) && (region === undefined || region === compute?.region),
  )
  if (found === undefined) return {}
  return {
    ...(Object.keys(found.nodeLabels).length === 0 ? {} : { nodeSelector: found.nodeLabels }),
    ...(found.tolerations.length === 0 ? {} : { tolerations: found.tolerations }),
    ...(found.priorityClassName === undefined ? {} : { priorityClassName: found.priorityClassName }),
  }
}
