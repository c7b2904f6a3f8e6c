import { endpoint } from '#api/domain/endpoint/endpoint.ts'
import { createdTicket } from './schema.ts'
import { createTicket } from './tickets.ts'

/** The endpoint of tickets for realtime handshakes. It needs a verb on or below the organization, as the handshake does. */
export const realtimeTicketEndpoints = [
  endpoint({
    method: 'post',
    path: '/api/realtime/tickets/',
    operationId: 'createRealtimeTicket',
    summary: 'Create a ticket that replaces the credential in one realtime handshake',
    description:
      'The ticket stands for the credential of the request in this organization. It ends after one handshake or 30 s.',
    tag: 'Realtime',
    scope: 'organization',
    listing: true,
    // A connection leaves no audit record, and a ticket is a part of one.
    auditsItself: true,
    status: 201,
    answer: createdTicket,
    handle: async (ctx) => ({ body: await createTicket(ctx) }),
  }),
]
