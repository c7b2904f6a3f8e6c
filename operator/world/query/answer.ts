import type { WorldQueue } from '#shared/resources/world.ts'

/** The numbers and texts of an answer, as the server sent them. A server is a tenant's program, so they may be anything. */
export type ServerReport = {
  /** All players, with the bots that the protocol counts among them. */
  readonly players: number
  readonly bots?: number
  readonly queued?: number
  readonly capacity?: number
  readonly version?: string
  readonly map?: string
}

/** An answer of a server: a report, or bytes that are no answer of the protocol, and why. */
export type ServerAnswer =
  | { readonly kind: 'report'; readonly report: ServerReport }
  /** `fault` continues the words "The answer": `is not JSON`. */
  | { readonly kind: 'fault'; readonly fault: string }

/** The knowledge of this process about a server, from its polls. */
export type QueryResult =
  /**
   * `note` is a sentence that says how the numbers differ from what the server reports. The counts are uncertain if one of them is 0
   * although the server reports another number.
   */
  | { readonly kind: 'answered'; readonly queue: WorldQueue; readonly note?: string; readonly isUncertain?: true }
  /** The last polls got none at all, or bytes of another protocol. `why` is a sentence, with advice. */
  | { readonly kind: 'unanswered'; readonly reason: 'NoAnswer' | 'UnknownAnswer'; readonly why: string }
