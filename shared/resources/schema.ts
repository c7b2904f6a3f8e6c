import * as z from 'zod'
import {
  type containerArgs,
  idField,
  instant,
  maxArgsBytes,
  maxMetadataBytes,
  metadataFields,
  withinArgsLimit,
  withinMetadataLimit,
} from '#shared/domain/common.ts'

// The API server does not know the maximum length of a key, and refuses the cost of encoding one. A rule limits the length, and the
// bytes are counted by character: 16 times 16, so that a short key costs little.
const maxKeyLength = 256
const sixteen = `[${Array.from({ length: 16 }, (_, at) => at).join(', ')}]`
const character = 'key.charAt(16 * i + j)'
const bytesOfCharacter = String.raw`(${character} <= '\u007f' ? 1 : ${character} <= '\u07ff' ? 2 : ${character} <= '\uffff' ? 3 : 4)`
const bytesOfKey =
  `${sixteen}.map(i, 16 * i < size(key) ? ` +
  `${sixteen}.map(j, 16 * i + j < size(key) ? ${bytesOfCharacter} : 0).sum() : 0).sum()`
const bytesOf = (map: string): string =>
  `(has(self.${map}) ? self.${map}.map(key, ${bytesOfKey} + size(bytes(self.${map}[key]))).sum() : 0)`
const hasShortKeys = (map: string): string =>
  `(!has(self.${map}) || self.${map}.all(key, size(key) <= ${maxKeyLength}))`

/** Arguments of a container, with their maximum size, which is a rule of the API server too. */
export const args = (field: typeof containerArgs) =>
  withinArgsLimit(field)
    .default([])
    .meta({
      'x-kubernetes-validations': [
        {
          rule: `self.map(arg, size(bytes(arg))).sum() <= ${maxArgsBytes}`,
          message: `args have at most ${maxArgsBytes} bytes together`,
        },
      ],
    })

/** The owner's annotations and labels. Kubernetes labels are the product's own, so these are in the spec. */
export const userMetadata = withinMetadataLimit(
  z.object({ annotations: metadataFields.annotations.default({}), labels: metadataFields.labels.default({}) }),
)
  .meta({
    'x-kubernetes-validations': [
      {
        rule: `${hasShortKeys('annotations')} && ${hasShortKeys('labels')}`,
        message: `keys of annotations and labels have at most ${maxKeyLength} characters`,
      },
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

/** The resource that a grant of the API is for. A grant of another uid, as in a copy or a restored backup, allows nothing. */
export const grantedTo = z.object({
  uid: z.string().min(1).max(64).describe('UID of the resource that the grant is for.'),
  organizationId: idField('organization'),
  projectId: idField('project'),
  worldId: idField('world'),
})
