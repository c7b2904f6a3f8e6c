import { parse } from 'yaml'
import * as z from 'zod'
import type { ParseResult } from './parseResult.ts'
import { cpuLimitPattern, memoryLimitPattern } from './quantities.ts'
import {
  type ScalingProfileName,
  type ScalingProfiles,
  scalingProfileNames,
  scalingProfiles,
} from './scalingProfiles.ts'

// Kubernetes treats a limit of 0 as no limit.
const mustBeAboveZero = 'must be above 0'

/** A change of a scaling profile. */
export const profileOverride = z.strictObject({
  memoryLimit: z
    .string()
    .regex(memoryLimitPattern, 'must be a string such as "6Gi" or "512Mi"')
    .regex(/[1-9]/, mustBeAboveZero)
    .exactOptional(),
  cpuLimit: z
    .string()
    .regex(cpuLimitPattern, 'must be a string such as "2" or "500m"')
    .regex(/[1-9]/, mustBeAboveZero)
    .exactOptional(),
})

/**
 * Returns the scaling profiles with the overrides of a ConfigMap. Each key of its data is a profile's name; the value is
 * YAML with `memoryLimit` and `cpuLimit`, each optional. Other names are errors. All errors are listed.
 */
export const overrideProfiles = (data: Readonly<Record<string, string>>): ParseResult<ScalingProfiles> => {
  const errors: string[] = []
  const profiles: Record<ScalingProfileName, ScalingProfiles[ScalingProfileName]> = { ...scalingProfiles }
  for (const [key, text] of Object.entries(data)) {
    const name = scalingProfileNames.find((each) => each === key)
    if (name === undefined) {
      errors.push(`${key}: is not a scaling profile; the profiles are ${scalingProfileNames.join(', ')}`)
      continue
    }
    const result = profileOverride.safeParse(parseYaml(text))
    if (result.success) profiles[name] = { ...profiles[name], ...result.data }
    else errors.push(...result.error.issues.map(({ path, message }) => `${[key, ...path].join('.')}: ${message}`))
  }
  return errors.length === 0 ? { value: profiles } : { errors }
}

/** Invalid YAML is returned as the text, which the schema then refuses. */
const parseYaml = (text: string): unknown => {
  try {
    return parse(text)
  } catch {
    return text
  }
}
