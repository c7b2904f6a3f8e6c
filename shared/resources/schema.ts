import { z } from 'zod'

/** An instant as an ISO 8601 text in UTC; a Kubernetes `date-time`. */
export const instant = () => z.iso.datetime({ offset: true })

/** Text of at most so many code points, which is what the API server counts too; JavaScript's own length is not. */
export const codePoints = (most: number) =>
  z
    .string()
    .refine((text) => [...text].length <= most, `must have at most ${most} characters`)
    .meta({ maxLength: most })

/** A map from text to text as users keep beside their own things; it never becomes a Kubernetes label or annotation. */
const textMap = () => z.record(z.string().max(256), z.string().max(4096))

/** Annotations and labels of the REST resource. Kubernetes labels are the product's own, so these live in the spec. */
export const userMetadata = z.object({
  annotations: textMap().default({}).describe('Free notes of the owner, not interpreted.'),
  labels: textMap().default({}).describe('Short marks of the owner, not interpreted.'),
})

/** A Kubernetes condition as the API conventions define it; a list-map keyed by type. */
export const conditions = z
  .array(
    z.object({
      type: z.string().max(316).describe('What the condition is about, in CamelCase.'),
      status: z.enum(['True', 'False', 'Unknown']).describe('Whether it holds.'),
      reason: z.string().max(1024).describe('Why, as one CamelCase word for programs.'),
      message: z.string().max(32_768).describe('Why, as a sentence for people.'),
      lastTransitionTime: instant().describe('When the status last changed.'),
      observedGeneration: z.int().min(0).exactOptional().describe('The generation that was looked at.'),
    }),
  )
  .meta({
    description: 'What holds of this resource now; wait for one with kubectl wait --for=condition=Ready.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })

/** The revision of the API's row, and the fence that keeps a late writer from bringing back an older one. */
export const revision = () =>
  z
    .int()
    .min(1)
    .exactOptional()
    .describe('The revision of the record this was written from. It never falls. Absent on resources made by hand.')

/** CEL on the whole spec, since a rule on the field alone is not evaluated when the field is removed. */
export const revisionFence = {
  rule: '!has(oldSelf.revision) || (has(self.revision) && self.revision >= oldSelf.revision)',
  message: 'spec.revision never falls and is never removed: read the resource again and write from its newest revision',
}
