import { parse } from 'yaml'
import { z } from 'zod'
import {
  type ScalingProfileName,
  type ScalingProfiles,
  scalingProfileNames,
  scalingProfiles,
} from '#shared/scalingProfiles.ts'
import type { Parsed } from './placement.ts'
import { cpuLimitPattern, memoryLimitPattern } from './quantities.ts'

const override = z.strictObject({
  memoryLimit: z.string().regex(memoryLimitPattern, 'must be a text such as "6Gi" or "512Mi"').exactOptional(),
  cpuLimit: z.string().regex(cpuLimitPattern, 'must be a text such as "2" or "500m"').exactOptional(),
})

/**
 * The profiles with what a ConfigMap says of them. A key of its data is the name of a profile, the value is YAML with
 * `memoryLimit` and `cpuLimit`; what is left out stays. Names cannot be added. All faults are listed.
 */
export const overrideProfiles = (data: Readonly<Record<string, string>>): Parsed<ScalingProfiles> => {
  const faults: string[] = []
  const profiles: Record<ScalingProfileName, ScalingProfiles[ScalingProfileName]> = { ...scalingProfiles }
  for (const [key, text] of Object.entries(data)) {
    const name = scalingProfileNames.find((each) => each === key)
    if (name === undefined) {
      faults.push(`${key}: is no scaling profile; they are ${scalingProfileNames.join(', ')}`)
      continue
    }
    const read = override.safeParse(parsed(text))
    if (read.success) profiles[name] = { ...profiles[name], ...read.data }
    else faults.push(...read.error.issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`))
  }
  return faults.length === 0 ? { value: profiles } : { faults }
}

const parsed = (text: string): unknown => {
  try {
    return parse(text)
  } catch {
    return text
  }
}
