import type { Principal } from '#api/platform/auth/principal.ts'
import { addressBlock } from '#api/platform/http/clientAddress.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { addCount } from '#shared/counts.ts'

/** The maximum numbers of connections to one replica, per credential and per client address. */
export type SocketLimits = { readonly socketsPerKey: number; readonly socketsPerAddress: number }

/** The open connections by organization and the maximum of each organization. */
export type OrganizationLimit = {
  readonly counts: Map<string, number>
  readonly maxOf: (organizationId: string) => number
}

/** The maximum number of connections to one replica. It bounds memory and file descriptors. */
const maxConnections = 50_000

/** Counts connections from their admission on. The platform key has no limit per credential. */
export const createGate = (
  { socketsPerKey, socketsPerAddress }: SocketLimits,
  organizations: OrganizationLimit = { counts: new Map(), maxOf: () => Number.POSITIVE_INFINITY },
) => {
  const perKey = new Map<string, number>()
  const perAddress = new Map<string, number>()
  let all = 0
  let closed = false
  return {
    /** Counts a connection and returns a function that ends the count. Throws a 429 or 503 if a limit is reached. */
    enter: ({ kind, bucket, organizationId: home }: Principal, clientAddress: string): (() => void) => {
      const address = addressBlock(clientAddress)
      if (closed || all >= maxConnections) {
        throw new Problem('unavailable', 'The replica accepts no more connections. Connect again.', {
          headers: { 'retry-after': '1' },
        })
      }
      if (kind !== 'platform') refuseAbove(perKey, bucket, socketsPerKey, 'of a credential')
      if (home !== undefined) {
        refuseAbove(organizations.counts, home, organizations.maxOf(home), 'of the organization (maxConnections)')
      }
      refuseAbove(perAddress, address, socketsPerAddress, 'from an address')
      const name = kind === 'platform' ? undefined : bucket
      if (name !== undefined) addCount(perKey, name, 1)
      if (home !== undefined) addCount(organizations.counts, home, 1)
      addCount(perAddress, address, 1)
      all += 1
      let left = false
      return () => {
        if (left) return
        left = true
        all -= 1
        if (name !== undefined) addCount(perKey, name, -1)
        if (home !== undefined) addCount(organizations.counts, home, -1)
        addCount(perAddress, address, -1)
      }
    },
    /** Refuses all further connections. */
    close: (): void => {
      closed = true
    },
  }
}

const refuseAbove = (counts: Map<string, number>, name: string, limit: number, whose: string): void => {
  if ((counts.get(name) ?? 0) < limit) return
  throw new Problem('rate_limited', `The limit is ${limit} open connections ${whose}.`, {
    headers: { 'retry-after': '10' },
  })
}
