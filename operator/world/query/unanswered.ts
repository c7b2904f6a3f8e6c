import { type ServerQuery, transportOf } from '#shared/domain/query.ts'
import type { QueryResult } from './answer.ts'

/** The number of polls in a row without a usable answer after which the counts of a server are unknown. */
export const unansweredPolls = 3

/** Returns the result of polls without a usable answer: none at all, or bytes with that fault. */
export const toUnanswered = (
  { protocol, port }: Pick<ServerQuery, 'protocol'> & { readonly port: number },
  fault: string | undefined,
): QueryResult => {
  const place = `${transportOf({ protocol })} port ${port}`
  return fault === undefined
    ? {
        kind: 'unanswered',
        reason: 'NoAnswer',
        why: `The server has not answered the query ${protocol} at ${place} for ${unansweredPolls} polls. Check runtime.query and that the server listens on that port.`,
      }
    : {
        kind: 'unanswered',
        reason: 'UnknownAnswer',
        why: `The answer at ${place} is not one of ${protocol}: it ${fault}. Check that runtime.query names the protocol that the server speaks at that port.`,
      }
}
