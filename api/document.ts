import { organizationHeader, projectHeader, ticketHeader, worldHeader } from './domain/access/scope.ts'
import { type OpenApiDocument, openApiDocument, problemResponses } from './domain/endpoint/document.ts'
import { headerParameters } from './domain/endpoint/parameters.ts'
import { endpoints } from './endpoints.ts'

const subprotocolText =
  'For browsers, which cannot set headers on a WebSocket: lines of `name:value`, encoded together in base58, optionally beside `orrery.v1`.'

/** The WebSocket endpoint. It is not in the table of endpoints, since its response is an upgrade. */
const connect = {
  operationId: 'connectRealtime',
  summary: 'Open a realtime connection',
  description: `Upgrades to a WebSocket on which the client follows documents and worlds. The messages are described in AsyncAPI at
/api/asyncapi.json. The checks are those of every request; a request without an upgrade that passes them gets 426.`,
  tags: ['Realtime'],
  security: [{ apiKey: [] }, { token: [] }],
  parameters: [
    ...headerParameters([
      [organizationHeader, true],
      [projectHeader, false],
      [worldHeader, false],
    ]),
    {
      name: ticketHeader,
      in: 'header',
      required: false,
      description: 'A ticket of `createRealtimeTicket`. It replaces the credential, and ends with this request.',
      schema: { type: 'string' },
    },
    {
      name: 'sec-websocket-protocol',
      in: 'header',
      required: false,
      description: subprotocolText,
      schema: { type: 'string', maxLength: 2_048 },
    },
  ],
  responses: {
    101: { description: 'The connection is a WebSocket from now on.' },
    ...problemResponses([400, 401, 403, 404, 426, 429, 500, 503]),
  },
}

/** Returns the OpenAPI document of the API at a public URL, with the WebSocket endpoint. */
export const apiDocument = (publicUrl: string): OpenApiDocument => {
  const document = openApiDocument(endpoints)
  const { origin } = new URL(publicUrl)
  return {
    ...document,
    servers: [{ url: origin, description: 'The API that served this document.' }],
    paths: { ...document.paths, '/api/realtime/connect/': { get: connect } },
  }
}
