// A generator of our own: openapi-typescript 7.13 repeats the headers of every status and writes five times as many lines. It requires
// TypeScript 5, and @hey-api/openapi-ts fails on TypeScript 7, which has no JavaScript API for them to print types with.
import { readDocument } from './document.ts'
import { noneType, operationTable, operationTypes } from './operations.ts'
import { docLines, typeOf } from './types.ts'

const header = "// Generated from the API's OpenAPI document by `npm run client`; change the routes there.\n"

/**
 * Returns the text of `client/operations.ts`: the types of all component schemas, and the inputs and responses of all
 * operations. The same document gives the same text.
 */
export const renderClient = (document: unknown): string => {
  const { schemas, operations } = readDocument(document)
  const types = schemas.map(([name, schema]) => {
    const doc = docLines(schema.description, '').map((line) => `${line}\n`)
    return `${doc.join('')}export type ${name} = ${typeOf(schema)}\n`
  })
  const none = `type ${noneType} = { [name: string]: never }\n`
  const inputs = `/** The input and response of each operation. */\n${operationTypes(operations)}`
  const table = `/** The method, path and media types of each operation, and what its caller needs. */\n${operationTable(operations)}`
  return [header, ...types, none, inputs, table].join('\n')
}
