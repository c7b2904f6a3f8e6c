/** The times between questions, in milliseconds, and their rates over all servers. */
export type PollPace = {
  readonly intervalMs: number
  /** The interval of awaited servers, if it is shorter than that of others. */
  readonly awaitedMs: number
  /** The interval grows fourfold up to this from the third failure in a row. A longer interval stays as it is. */
  readonly maxIntervalMs: number
  /**
   * The maximum number of requests per second to servers that respond or are awaited, on average. With more of these, the intervals are
   * longer. Awaited servers get half of it, and more if the others leave it.
   */
  readonly maxPerSecond: number
  /** The maximum number of requests per second to servers that do not respond, on average. */
  readonly maxRetriesPerSecond: number
}

/** A server that responded to the last request or was not asked yet, one that did not, or one that is Ready once it has answered. */
export type PollKind = 'answering' | 'silent' | 'awaited'

type Paced = { kind: PollKind; readonly failures: number }

/** Counts servers by kind, and spaces their polls, so that the rates are kept however many servers there are. */
export const createPollPace = ({ intervalMs, maxIntervalMs, maxPerSecond, maxRetriesPerSecond, ...pace }: PollPace) => {
  const sizes: Record<PollKind, number> = { answering: 0, silent: 0, awaited: 0 }
  const awaitedMs = Math.min(pace.awaitedMs, intervalMs)
  /** The rate of awaited servers, in requests per millisecond. */
  const awaitedRate = (): number => {
    const max = maxPerSecond / 1_000
    return Math.min(sizes.awaited / awaitedMs, Math.max(max / 2, max - sizes.answering / intervalMs))
  }
  return {
    add: ({ kind }: Paced): void => {
      sizes[kind] += 1
    },
    remove: ({ kind }: Paced): void => {
      sizes[kind] -= 1
    },
    assign: (server: Paced, kind: PollKind): void => {
      sizes[server.kind] -= 1
      sizes[kind] += 1
      server.kind = kind
    },
    /** Returns the time from a poll of a server to the next one. */
    delayMs: ({ kind, failures }: Paced): number => {
      if (kind === 'awaited') return Math.floor(sizes.awaited / awaitedRate())
      if (kind === 'answering') {
        return Math.floor(Math.max(intervalMs, sizes.answering / (maxPerSecond / 1_000 - awaitedRate())))
      }
      const backoffMs = Math.min(intervalMs * 4 ** Math.min(Math.max(failures - 2, 0), 10), maxIntervalMs)
      return Math.floor(Math.max(intervalMs, backoffMs, (sizes.silent * 1_000) / maxRetriesPerSecond))
    },
  }
}
