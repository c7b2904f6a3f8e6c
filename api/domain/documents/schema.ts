import * as z from 'zod'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { boundedText, shownInstant } from '#api/platform/http/fields.ts'
import { type DocumentType, documentTypes, kvStores } from '#shared/enumerations.ts'

const anything = z.unknown()

/** The maximum number of JSON values in the body of a document. */
export const maxDocumentValues = 50_000

/** The schema of the data of each document type. */
export const documentData = {
  kvStore: z.strictObject({
    key: boundedText(256).min(1).describe('Key of the entry.'),
    store: z.enum(kvStores).describe('Store of the entry: kvstoreServer is written by world servers only.'),
    data: anything.describe('Value of the entry: any JSON value.'),
  }),
  collection: z.strictObject({
    userId: boundedText(128).describe('The user that the collection belongs to.'),
    datasourceId: boundedText(256).describe('Identifier of the source of the collection.'),
    userCollection: z.array(anything).max(10_000).describe('The items: any JSON values.'),
  }),
  liveConfig: z.strictObject({
    id: boundedText(256).describe('Identifier of the configuration.'),
    config: z.record(boundedText(256), anything).describe('The configuration: any JSON object.'),
  }),
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

const userIdText = 'The user that the document belongs to, or the id of the key that wrote it.'
const dataText = 'The content of the document.'

/** Returns the schema of the body of a PUT of a document type. */
export const putDocumentBody = (type: DocumentType) =>
  z.strictObject({
    data: documentData[type].describe(dataText),
    userId: boundedText(128)
      .regex(/^[\x21-\x7e]*$/, 'must be visible ASCII characters')
      .exactOptional()
      .describe(userIdText),
  })

/** The path parameter for a document. A prefix `Organization:`, `Project:` or `World:` names the level of its scope. */
export const documentParams = z.object({
  id: boundedText(256)
    .regex(
      /^[A-Za-z0-9][A-Za-z0-9._:@~-]*$/,
      'must start with a letter or digit and contain only letters, digits and . _ : @ ~ -',
    )
    .meta({
      description: 'Identifier of the document. A prefix `Organization:`, `Project:` or `World:` names its scope.',
      examples: [exampleDocumentId],
    }),
})

/** A document of any type. Realtime messages contain the same fields. */
export const documentAnswer = z
  .object({
    userId: z.string().describe(userIdText),
    resource: z
      .object({
        type: z.enum(documentTypes).describe('Type of the document.'),
        id: z.string().describe('Identifier of the document.'),
      })
      .describe('Type and identifier of the document.'),
    data: z.record(z.string(), anything).describe(dataText),
    version: shownInstant('Time of the change. It never decreases.'),
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
