import * as z from 'zod'
import { clusterSchema } from '#api/clusterConfig.ts'
import { issuerSchema } from '#api/domain/access/token.ts'
import { placementSchema } from '#operator/world/placement.ts'
import { profileOverride } from '#shared/profileOverrides.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'
import type { Json } from './fields.ts'

type Schema = { readonly [key: string]: Json }

/** The schema of what a process reads. The process checks more at its start. */
const toSchema = (schema: z.ZodType): Schema => {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7', unrepresentable: 'any' })
  // Helm's regular expressions are those of Go.
  return JSON.parse(JSON.stringify(rest).replaceAll('\\\\u00', '\\\\x')) as Schema
}

/** The schema of `api.clusters`. */
export const clusters = toSchema(z.array(clusterSchema).max(32))
const { signIn } = issuerSchema.shape
/** Without `clientSecret`: the values become a ConfigMap. `api.signInSecret` has the files with secrets. */
const chartIssuer = z.strictObject({
  ...issuerSchema.shape,
  signIn: z.strictObject(signIn.unwrap().shape).omit({ clientSecret: true }).optional(),
})
/** The schema of `api.jwtIssuers`. */
export const issuers = toSchema(z.array(chartIssuer).max(32))
/** The schema of `operator.placement`. */
export const placements = toSchema(z.array(placementSchema).max(64))

const override = toSchema(profileOverride)
/** The schema of `operator.scalingProfiles`: an object, or its YAML. */
export const profiles: Schema = {
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(
    scalingProfileNames.map((name) => [name, { anyOf: [{ type: 'string', maxLength: 1_024 }, override] }]),
  ),
}
