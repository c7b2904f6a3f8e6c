import { z } from 'zod'
import { type containerArgs, maxArgsBytes, maxMetadataBytes, metadataFields } from '#shared/domain/common.ts'

/** An instant as ISO 8601 text: a Kubernetes `date-time`. */
export const instant = () => z.iso.datetime({ offset: true })

// Keys count by character: the API server does not know their maximum length and would refuse the cost of encoding them.
const bytesOf = (map: string): string =>
  `(has(self.${map}) ? self.${map}.map(key, size(key) + size(bytes(self.${map}[key]))).sum() : 0)`

/** Arguments of a container, with their maximum size as a rule of the API server. */
export const args = (field: typeof containerArgs) =>
  field.default([]).meta({
    'x-kubernetes-validations': [
      {
        rule: `self.map(arg, size(bytes(arg))).sum() <= ${maxArgsBytes}`,
        message: `args have at most ${maxArgsBytes} bytes together`,
      },
    ],
  })

/** The owner's annotations and labels. Kubernetes labels are the product's own, so these are in the spec. */
export const userMetadata = z
  .object({ annotations: metadataFields.annotations.default({}), labels: metadataFields.labels.default({}) })
  .meta({
    'x-kubernetes-validations': [
      {
        rule: `${bytesOf('annotations')} + ${bytesOf('labels')} <= ${maxMetadataBytes}`,
        message: `annotations and labels have at most ${maxMetadataBytes} bytes together`,
      },
    ],
  })
  .prefault({})
  .describe("The owner's annotations and labels. They are separate from those of Kubernetes.")

/** Kubernetes conditions as the API conventions define them: a list-map keyed by type. */
export const conditions = z
  .array(
    z.object({
      type: z.string().max(316).describe('Type of the condition in CamelCase.'),
      status: z.enum(['True', 'False', 'Unknown']).describe('Status of the condition: True, False or Unknown.'),
      reason: z.string().max(1024).describe('Reason for the last transition as one CamelCase word.'),
      message: z.string().max(32_768).describe('Details of the last transition for people.'),
      lastTransitionTime: instant().describe('Time when the status of the condition last changed.'),
      observedGeneration: z
        .int()
        .min(0)
        .exactOptional()
        .describe('The metadata.generation that the condition was set for.'),
    }),
  )
  .meta({
    description:
      'Current conditions: Ready, Progressing, Degraded, and Synced, which the API sets. Use kubectl wait --for=condition=Ready to wait.',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['type'],
  })

/** `spec.revision`: the version of the API's row, and the fence against an outdated writer. */
export const revision = () =>
  z
    .int()
    .min(1)
    .exactOptional()
    .describe(
      'Revision of the API record that this spec was written from. It cannot decrease or be removed. Leave it out of resources that you create with kubectl.',
    )

/** Validation of the whole spec, since a rule on the field alone is not evaluated when the field is removed. */
export const revisionFence = {
  rule: '!has(oldSelf.revision) || (has(self.revision) && self.revision >= oldSelf.revision)',
  message:
    'spec.revision must not decrease or be removed: read the resource again and write with its current revision or a higher one',
}

/** Status fields that every resource has. */
export const observedFields = {
  message: z
    .string()
    .max(4096)
    .exactOptional()
    .describe('Details of the phase: what the operator is waiting for, or what failed and what to do.'),
  worldId: z
    .string()
    .max(64)
    .exactOptional()
    .describe('Identifier of the world in REST. The API sets it where the name of the resource is another one.'),
  observedGeneration: z
    .int()
    .min(0)
    .exactOptional()
    .describe('The metadata.generation that the operator last reconciled.'),
  observedRevision: z.int().min(0).exactOptional().describe('The spec.revision that the operator last reconciled.'),
  conditions: conditions.exactOptional(),
}
