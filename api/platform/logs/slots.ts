import { callerName, type Principal } from '#api/platform/auth/principal.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { addCount } from '#shared/counts.ts'
import type { LogEnd } from './encoding.ts'

/** The maximum numbers of logs that are read at the same time on one replica. */
type LogLimits = { readonly perKey: number; readonly perOrganization: number; readonly perReplica: number }

/** A log that is read for a client. */
export type LogReader = {
  readonly principal: Principal
  readonly organizationId: string
  /** Returns why the log must end, given the present state of the principal. */
  readonly findEnd: (present: Principal) => Promise<LogEnd | undefined>
  readonly end: (reason: LogEnd) => void
}

/** The logs that are read at the moment. */
export type LogSlots = {
  /**
   * Takes a slot until the returned function is called. Throws a 429 at a limit. The last quarter of the slots is for organizations
   * that read no log. The log is ended when the process stops, or
   * when it may no longer be read.
   */
  take(reader: LogReader): () => void
  readers(): readonly LogReader[]
  /** Ends all logs, when the process stops. */
  endAll(): void
}

/** Creates the slots of a replica. */
export const createLogSlots = (limits: LogLimits): LogSlots => {
  const counts = new Map<string, number>()
  const readers = new Set<LogReader>()
  const count = (name: string): number => counts.get(name) ?? 0
  const add = (names: readonly string[], by: 1 | -1): void => {
    for (const name of names) addCount(counts, name, by)
  }
  return {
    take: (reader) => {
      const { principal, organizationId } = reader
      const [byKey, byOrganization] = [`key/${callerName(principal)}`, `organization/${organizationId}`]
      if (count(byKey) >= limits.perKey) throw tooMany(`${limits.perKey} logs at a time for one credential`)
      if (count(byOrganization) >= limits.perOrganization) {
        throw tooMany(`${limits.perOrganization} logs at a time for the organization`)
      }
      const reserve = count(byOrganization) === 0 ? 0 : Math.floor(limits.perReplica / 4)
      if (readers.size >= limits.perReplica - reserve) {
        throw tooMany(
          `${limits.perReplica} logs at a time for the service, the last of which are for other organizations`,
        )
      }
      add([byKey, byOrganization], 1)
      readers.add(reader)
      return () => {
        if (readers.delete(reader)) add([byKey, byOrganization], -1)
      }
    },
    readers: () => [...readers],
    endAll: () => {
      for (const { end } of [...readers]) end('Shutdown')
    },
  }
}

const tooMany = (limit: string): Problem =>
  new Problem('rate_limited', `The limit is ${limit}. End another one, or retry after the time in Retry-After.`, {
    headers: { 'retry-after': '10' },
  })
