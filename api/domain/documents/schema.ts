import * as z from 'zod'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownInstant } from '#api/platform/http/fields.ts'
import { documentTypes, kvStores } from '#shared/enumerations.ts'

const key = () => boundedText(256).min(1)
const anything = z.unknown()

/** The maximum number of JSON values in the body of a document. */
export const maxDocumentValues = 50_000

/** The schema of the data of each document type. */
export const documentData = {
  kvStore: z.strictObject({ key: key(), store: z.enum(kvStores), data: anything }),
  collection: z.strictObject({
    userId: boundedText(128),
    datasourceId: boundedText(256),
    userCollection: z.array(anything).max(10_000),
  }),
  liveConfig: z.strictObject({ id: boundedText(256), config: z.record(boundedText(256), anything) }),
} as const

const exampleDocumentId = 'Project:settings'

/** An example body for each document type. */
export const documentExamples = {
  kvStore: { data: { key: 'score', store: 'kvstoreClient', data: { best: 42 } }, userId: 'user-7' },
  collection: {
    data: { userId: 'user-7', datasourceId: 'hats', userCollection: [{ item: 'top hat', count: 1 }] },
    userId: 'user-7',
  },
  liveConfig: { data: { id: 'settings', config: { music: true } }, userId: 'user-7' },
} as const

/** The schema of the owner of a document. */
export const userIdField = () => boundedText(128).regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters')

/** The path parameter for a document. A prefix `Organization:`, `Project:` or `World:` names the level of its scope. */
export const documentParams = z.object({
  id: boundedText(256)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:@~-]*$/,
      'must start with a letter or digit and contain only letters, digits and . _ : @ ~ -',
    )
    .meta({ examples: [exampleDocumentId] }),
})

/** A document of any type. Realtime messages contain the same fields. */
export const documentAnswer = z
  .object({
    userId: z.string(),
    resource: z.object({ type: z.enum(documentTypes), id: z.string() }),
    data: z.record(z.string(), anything),
    version: shownInstant(),
  })
  .meta({
    id: 'Document',
    examples: documentTypes.map((type) => ({
      ...documentExamples[type],
      resource: { type, id: exampleDocumentId },
      version: exampleInstant,
    })),
  })

export type DocumentAnswer = z.output<typeof documentAnswer>
