import * as z from 'zod'
import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { type DocumentType, documentTypes } from '#shared/enumerations.ts'
import { deleteDocument, getDocument, lockDocumentRevision, putDocument } from './documents.ts'
import {
  documentAnswer,
  documentData,
  documentExamples,
  documentParams,
  maxDocumentValues,
  userIdField,
} from './schema.ts'
import { scopeOfDocument } from './scope.ts'

const nameOf = (type: DocumentType): string => `${type.charAt(0).toUpperCase()}${type.slice(1)}`

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
      needs: [scopeOfDocument, 'w'],
      maxValues: maxDocumentValues,
      lockRevision: lockDocumentRevision(type),
      body: z
        .strictObject({ data: documentData[type], userId: userIdField().exactOptional() })
        .meta({ id: `Put${nameOf(type)}`, examples: [documentExamples[type]] }),
      answer: documentAnswer,
      problems: [409],
      handle: async (ctx, { params: { id }, body }) => ({ body: await putDocument(ctx, { type, id }, body) }),
    }),
    endpoint({
      ...onDocument,
      method: 'delete',
      operationId: `delete${nameOf(type)}`,
      summary: `Delete a ${type} document`,
      needs: [scopeOfDocument, 'w'],
      lockRevision: lockDocumentRevision(type),
      status: 204,
      problems: [400],
      handle: async (ctx, { params: { id } }) => {
        await deleteDocument(ctx, { type, id })
        return {}
      },
    }),
  ]
}

/** The endpoints of all document types. */
export const documentEndpoints = documentTypes.flatMap(endpointsOf)
