import * as z from 'zod'
import { organizationHeader, projectHeader, ticketHeader, worldHeader } from '#api/domain/access/scope.ts'
import { documentData } from '#api/domain/documents/schema.ts'
import { deploymentAnswer } from '#api/domain/worlds/runs/schema.ts'
import { worldAnswer } from '#api/domain/worlds/schema.ts'
import { exampleId, exampleInstant } from '#api/platform/http/examples.ts'
import { metadataFields } from '#shared/domain/common.ts'
import { reportedFields } from '#shared/domain/query.ts'
import { worldFields } from '#shared/domain/world.ts'
import { productVersion } from '#shared/version.ts'
import { endings } from './ending.ts'
import { closingError, faults, resourceTypes } from './protocol.ts'

type Json = { [key: string]: unknown }

const resource = z
  .object({
    type: z.enum(resourceTypes).describe('Kind of the resource.'),
    id: z.string().describe('Identifier of the resource, as the subscriber wrote it.'),
  })
  .describe('The resource that the message is about.')
const request = (action: 'subscribe' | 'unsubscribe') =>
  z.object({ action: z.literal(action).describe('Requested action.'), resource })
const text = z.string().describe('Details for people.')

const feedWorld = {
  worldId: z.string().describe('Identifier of the world.'),
  projectId: z.string().describe('Identifier of its project.'),
  version: z.iso.datetime({ precision: 3 }).describe('Time of the change. The versions of a world never decrease.'),
}
const feedData = z
  .strictObject({
    worlds: z
      .array(
        z.union([
          z.strictObject({
            ...feedWorld,
            name: z.string().describe('Name of the world.'),
            createdAt: worldAnswer.shape.createdAt,
            labels: metadataFields.labels,
            profile: worldFields.profile,
            group: worldFields.group,
            region: worldFields.region,
            mapName: worldAnswer.shape.runtime.shape.mapName,
            capacity: worldAnswer.shape.admission.shape.capacity,
            players: z
              .int()
              .exactOptional()
              .describe('Players in the world. Absent if its server does not report them, or has not had any yet.'),
            queued: z.int().exactOptional().describe('Players who wait to enter. Absent like players.'),
            reportedVersion: reportedFields.version,
            reportedMap: reportedFields.map,
            restarts: deploymentAnswer.shape.restarts,
            status: worldAnswer.shape.status.describe('The status of the world.'),
          }),
          z.strictObject({ ...feedWorld, isDeleted: z.literal(true).describe('The world was deleted.') }),
        ]),
      )
      .describe('At most 100 worlds with their present state.'),
    snapshot: z
      .strictObject({
        isFirst: z.boolean().describe('True for the first page.'),
        isLast: z
          .boolean()
          .describe('True for the last page. Worlds that no message has named since the first are gone.'),
      })
      .exactOptional()
      .describe('Marks a page of the present worlds. It is absent in a change.'),
  })
  .describe('Worlds of a project or organization.')

const payloads = {
  subscribe: request('subscribe'),
  unsubscribe: request('unsubscribe'),
  update: z.object({
    userId: z.string().describe('The user that the document belongs to. Empty for a world.'),
    resource,
    data: z
      .union([
        ...Object.values(documentData),
        worldAnswer.shape.status.describe('The status of a world.'),
        feedData,
        z.strictObject({}).describe('The resource was deleted.'),
      ])
      .describe('The content of the resource. It is empty after a deletion.'),
    version: z.iso
      .datetime({ precision: 3 })
      .describe('Time of the change. The versions of a resource never decrease.'),
  }),
  warning: z.object({
    warning: z.literal('resource_not_found').describe('Code of the warning.'),
    message: text,
    resource,
  }),
  error: z.object({
    error: z.enum([...Object.values(faults), closingError]).describe('Code of the error.'),
    message: text.exactOptional(),
    resource: z
      .object({
        type: z.string().describe('The type as the client wrote it, cut to 256 characters.'),
        id: z.string().describe('The id as the client wrote it, cut to 256 characters.'),
      })
      .describe('The resource of the refused request.')
      .exactOptional(),
  }),
} as const
type MessageName = keyof typeof payloads

const settings = { type: 'liveConfig', id: 'settings' }
const feed = { type: 'worlds', id: exampleId('project') }
const world = { type: 'world', id: exampleId('world') }
const summaries: Record<MessageName, { summary: string; examples: Json[] }> = {
  subscribe: {
    summary: 'Follow a resource. The client gets the present content first, and then each change.',
    examples: [{ action: 'subscribe', resource: settings }],
  },
  unsubscribe: {
    summary: 'End the subscription to a resource, which may be deleted.',
    examples: [{ action: 'unsubscribe', resource: settings }],
  },
  update: {
    summary: 'The content of a resource: the present one after a subscribe, then each change.',
    examples: [
      {
        userId: 'user-7',
        resource: settings,
        data: { id: 'settings', config: { music: true } },
        version: exampleInstant,
      },
      { userId: '', resource: world, data: { phase: 'Active', message: '', conditions: [] }, version: exampleInstant },
      {
        userId: '',
        resource: feed,
        data: {
          worlds: [
            {
              worldId: exampleId('world'),
              projectId: exampleId('project'),
              version: exampleInstant,
              name: 'Lobby',
              createdAt: exampleInstant,
              labels: { team: 'events' },
              profile: 'Capacity30',
              group: 'production',
              region: 'Europe',
              mapName: 'hall',
              capacity: 30,
              players: 12,
              queued: 0,
              restarts: 0,
              status: { phase: 'Active', message: '', conditions: [] },
            },
          ],
          snapshot: { isFirst: true, isLast: true },
        },
        version: exampleInstant,
      },
      { userId: 'user-7', resource: settings, data: {}, version: exampleInstant },
    ],
  },
  warning: {
    summary:
      'The resource does not exist, or may not be read. The subscription remains and waits for it. A feed of worlds ends.',
    examples: [
      { warning: 'resource_not_found', message: 'The liveConfig resource does not exist.', resource: settings },
    ],
  },
  error: {
    summary: 'A message is malformed or refused, or the connection is about to be closed.',
    examples: [{ error: faults.malformed }, { error: closingError, message: endings.malformed[1] }],
  },
}

/** Returns the JSON Schema of a payload. */
const schemaOf = (name: MessageName): Json => {
  const { $schema: _, ...schema } = z.toJSONSchema(z.object({ root: payloads[name] }), {
    unrepresentable: 'any',
    io: 'output',
    reused: 'inline',
    override: ({ jsonSchema }) => {
      delete jsonSchema.id
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
    },
  })
  return withoutRefs(schema.properties?.root, schema.$defs ?? {}) as Json
}

/** Replaces references to definitions by their schemas, since a payload is a document of its own. */
const withoutRefs = (node: unknown, definitions: Readonly<Record<string, unknown>>): unknown => {
  if (Array.isArray(node)) return node.map((each) => withoutRefs(each, definitions))
  if (typeof node !== 'object' || node === null) return node
  if ('$ref' in node) {
    const { id: _, ...schema } = definitions[String(node.$ref).replace('#/$defs/', '')] as Json
    return withoutRefs(schema, definitions)
  }
  return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, withoutRefs(value, definitions)]))
}

const messages = Object.fromEntries(
  (Object.keys(payloads) as MessageName[]).map((name) => [
    name,
    {
      name,
      contentType: 'application/json',
      summary: summaries[name].summary,
      payload: schemaOf(name),
      examples: summaries[name].examples.map((payload) => ({ payload })),
    },
  ]),
)
const fromClient: readonly MessageName[] = ['subscribe', 'unsubscribe']
const fromServer: readonly MessageName[] = ['update', 'warning', 'error']
const ofChannel = (names: readonly MessageName[]): Json[] =>
  names.map((name) => ({ $ref: `#/channels/realtime/messages/${name}` }))

const header = (description: string) => ({ type: 'string', description })
const closes = Object.values(endings)
  .filter(([, reason]) => reason !== '')
  .map(([code, reason]) => `- ${code}: ${reason}`)
  .join('\n')

/** Returns the AsyncAPI 3.0 document of the realtime messages at a public URL. */
export const asyncApiDocument = (publicUrl: string) => {
  const { host, protocol } = new URL(publicUrl)
  return {
    asyncapi: '3.0.0',
    info: {
      title: 'Orrery realtime',
      version: productVersion,
      description: `Follows documents and worlds over one WebSocket. The REST operations are in OpenAPI at /api/openapi.json.

Before the API closes a connection, it sends an error with the text "${closingError}" and the reason:

${closes}`,
    },
    defaultContentType: 'application/json',
    servers: {
      api: {
        host,
        protocol: protocol === 'https:' ? 'wss' : 'ws',
        description: 'The API that served this document.',
        security: [{ $ref: '#/components/securitySchemes/apiKey' }, { $ref: '#/components/securitySchemes/token' }],
      },
    },
    channels: {
      realtime: {
        address: '/api/realtime/connect/',
        description: 'One connection. Messages are JSON in text frames of at most 16 KiB from the client.',
        messages: Object.fromEntries(
          Object.keys(payloads).map((name) => [name, { $ref: `#/components/messages/${name}` }]),
        ),
        bindings: {
          ws: {
            method: 'GET',
            headers: {
              type: 'object',
              required: [organizationHeader],
              properties: {
                [organizationHeader]: header('Identifier of the organization.'),
                [projectHeader]: header('Identifier of the project. Ids without a prefix then name its documents.'),
                [worldHeader]: header('Identifier of the world. Ids without a prefix then name its documents.'),
                [ticketHeader]: header('A ticket of POST /api/realtime/tickets/. It replaces the credential.'),
              },
            },
          },
        },
      },
    },
    operations: {
      receiveRequests: {
        action: 'receive',
        summary: 'Messages from clients.',
        channel: { $ref: '#/channels/realtime' },
        messages: ofChannel(fromClient),
      },
      sendChanges: {
        action: 'send',
        summary: 'Messages from the API.',
        channel: { $ref: '#/channels/realtime' },
        messages: ofChannel(fromServer),
      },
    },
    components: {
      messages,
      securitySchemes: {
        apiKey: { type: 'httpApiKey', in: 'header', name: 'x-api-key', description: 'An API key.' },
        token: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT', description: 'A token of a user.' },
      },
    },
  }
}
