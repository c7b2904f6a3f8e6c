import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { type DocumentType, documentTypes } from '#shared/enumerations.ts'
import { deleteDocument, getDocument, lockDocumentRevision, putDocument } from './documents.ts'
import { documentAnswer, documentExamples, documentParams, maxDocumentValues, putDocumentBody } from './schema.ts'
import { scopeOfDocument } from './scope.ts'

const nameOf = (type: DocumentType): string => `${type.charAt(0).toUpperCase()}${type.slice(1)}`

/** The rules for writers of some types. */
const writeTexts: Partial<Record<DocumentType, string>> = {
  kvStore:
    ' Entries of kvstoreServer need the claim `worldServer`. A token without `*` on the scope writes only documents of its own user.',
}

/** Returns the endpoints of one document type. */
const endpointsOf = (type: DocumentType) => {
  const onDocument = {
    path: `/api/documents/${type}/{id}/`,
    tag: 'Documents',
    scope: 'organization?project?world',
    params: documentParams,
    auditsOncePerMinute: true,
  } as const
  return [
    endpoint({
      ...onDocument,
      method: 'get',
      operationId: `get${nameOf(type)}`,
      summary: `Read a ${type} document`,
      description: 'The document is in the scope of the headers, or in the one that its id names.',
      needs: [scopeOfDocument, 'r'],
      answer: documentAnswer,
      answerHeaders: ['etag'],
      problems: [400],
      handle: (ctx, { params: { id } }) => getDocument(ctx, { type, id }),
    }),
    endpoint({
      ...onDocument,
      method: 'put',
      operationId: `put${nameOf(type)}`,
      summary: `Create or replace a ${type} document`,
      description: `Subscribers get the new content.${writeTexts[type] ?? ''}`,
      needs: [scopeOfDocument, 'w'],
      maxValues: maxDocumentValues,
      lockRevision: lockDocumentRevision(type),
      body: putDocumentBody(type).meta({ id: `Put${nameOf(type)}`, examples: [documentExamples[type]] }),
      answer: documentAnswer,
      problems: [409],
      handle: async (ctx, { params: { id }, body }) => ({ body: await putDocument(ctx, { type, id }, body) }),
    }),
    endpoint({
      ...onDocument,
      method: 'delete',
      operationId: `delete${nameOf(type)}`,
      summary: `Delete a ${type} document`,
      description: 'Subscribers get an update with empty data.',
      needs: [scopeOfDocument, 'w'],
      lockRevision: lockDocumentRevision(type),
      status: 204,
      problems: [400],
      handle: (ctx, { params: { id } }) => deleteDocument(ctx, { type, id }),
    }),
  ]
}

/** The endpoints of all document types. */
export const documentEndpoints = documentTypes.flatMap(endpointsOf)
