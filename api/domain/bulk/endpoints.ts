import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { actOnWorlds } from './bulk.ts'
import { bulkAnswer, bulkBody } from './schema.ts'

/** The endpoint that starts, stops, restarts or deletes many worlds. Its service authorises and audits each world. */
export const bulkEndpoints = [
  endpoint({
    method: 'post',
    path: '/api/worlds/actions/',
    operationId: 'actOnWorlds',
    summary: 'Start, stop, restart or delete many worlds',
    description:
      'Acts on the worlds of `ids`, or on those that match `filter`, each in its own transaction. Starts leave running worlds as they are. Stops and restarts leave worlds that do not run; a stop also ends a start that waits. A restart is a new run.',
    tag: 'Worlds',
    scope: 'organization?project',
    listing: true,
    body: bulkBody,
    answer: bulkAnswer,
    auditsItself: true,
    sharesItself: true,
    problems: [404, 409],
    handle: async (ctx, { body }) => ({ body: await actOnWorlds(ctx, body) }),
  }),
]
