import { type Refusal, type RequestOptions, request } from './refusal.ts'

/** Requests a ticket, which is valid for one handshake. Returns the refusal, or undefined without a response of the API. */
export const fetchTicket = (options: RequestOptions): Promise<string | Refusal | undefined> => {
  const read = async (response: Response): Promise<string | undefined> => {
    const { ticket } = (await response.json()) as { ticket?: unknown }
    return typeof ticket === 'string' ? ticket : undefined
  }
  return request({ method: 'POST', operationId: 'createRealtimeTicket', read }, options)
}
