import type { Service } from '#operator/pods/service.ts'
import { maxPorts } from '#shared/domain/ports.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { apiGroup } from '#shared/resources/group.ts'

/** A range of ports that Services share, such as those of one load balancer. */
export type PortPool = { readonly name: string; readonly first: number; readonly last: number }

/** The least number of ports of a pool, so that each port of a world can move to another number. */
export const minPoolSize = 2 * maxPorts

/** Parses a range such as `7000-7999`. Returns undefined if it is not a range of ports, or smaller than `minPoolSize`. */
export const parseRange = (text: string): Omit<PortPool, 'name'> | undefined => {
  const [, first, last] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).map(Number)
  if (first === undefined || last === undefined) return undefined
  return first >= 1 && last <= 65_535 && last - first + 1 >= minPoolSize ? { first, last } : undefined
}

/** The annotation of a Service with the pool of its ports: `europe:7000-7999`. */
const poolAnnotation = `${apiGroup}/port-pool`

/** Returns the annotation of a Service with ports of that pool. */
export const toPoolAnnotation = ({ name, first, last }: PortPool): Record<string, string> => ({
  [poolAnnotation]: `${name}:${first}-${last}`,
})

/** Returns the pool of a Service's ports, or undefined if it shares none. */
export const poolOf = ({ metadata }: Service): PortPool | undefined => {
  const [name = '', text = ''] = metadata.annotations?.[poolAnnotation]?.split(':') ?? []
  const range = parseRange(text)
  return range === undefined || !new RegExp(namePatterns.dnsLabel).test(name) ? undefined : { name, ...range }
}

/** A request for ports of a pool. */
export type PortRequest = {
  readonly pool: PortPool
  /** The number of each port so far; undefined for a port without one. */
  readonly present: readonly (number | undefined)[]
  /** Whether a port may get another number if fewer Services have that one. */
  readonly mayMove: boolean
}

/** The ports of a request, in its order. `isCrowded` if another Service of the pool has one of them too. */
export type AllottedPorts = { readonly numbers: readonly number[]; readonly isCrowded: boolean }

/** Allots ports to one world. The same request gives the same ports until the Service of a world changes. */
export type AllotPorts = (request: PortRequest) => AllottedPorts

/** The ports of all Services that share some, by the key of their world (`namespace/name`). */
export type PortPools = {
  /** Records the ports of a Service, or with undefined that there is none. */
  observe(key: string, service: Service | undefined): void
  /** Allots ports, and holds them for that world until `observe` says otherwise. */
  allot(key: string, request: PortRequest): AllottedPorts
}

type Held = { readonly pool: string; readonly numbers: readonly number[] }

/**
 * Creates pools without Services. The Services are the record of the ports in use, and the load balancer refuses a port that is
 * taken at an address. So nothing is written first, and nothing leaks: a pool only counts. A new port is the one that the fewest
 * Services have; among equals one that was never released since the start of the process, or else the one released first. The
 * players of an ended world may still send packets to its port.
 */
export const createPortPools = (): PortPools => {
  const held = new Map<string, Held>()
  const counts = new Map<string, number>()
  /** The order in which ports were released: at most one entry for each port of a pool. */
  const released = new Map<string, number>()
  let releases = 0

  const idOf = (pool: string, number: number): string => `${pool}:${number}`
  const usesOf = (pool: string, number: number): number => counts.get(idOf(pool, number)) ?? 0
  const count = ({ pool, numbers }: Held, change: 1 | -1): void => {
    for (const number of numbers) {
      const uses = usesOf(pool, number) + change
      if (uses === 0) counts.delete(idOf(pool, number))
      else counts.set(idOf(pool, number), uses)
    }
  }
  const hold = (key: string, next: Held | undefined): void => {
    const before = held.get(key)
    if (before !== undefined) {
      count(before, -1)
      held.delete(key)
    }
    if (next !== undefined) {
      count(next, 1)
      held.set(key, next)
    }
    for (const number of before?.numbers ?? []) {
      if (before === undefined || (next?.pool === before.pool && next.numbers.includes(number))) continue
      releases += 1
      released.set(idOf(before.pool, number), releases)
    }
  }
  const findLeastUsed = ({ name, first, last }: PortPool, except: ReadonlySet<number | undefined>): number => {
    let best = first
    let bestRank: readonly [uses: number, released: number] = [Number.POSITIVE_INFINITY, 0]
    for (let number = first; number <= last; number += 1) {
      if (except.has(number)) continue
      const rank = [usesOf(name, number), released.get(idOf(name, number)) ?? 0] as const
      if (rank[0] < bestRank[0] || (rank[0] === bestRank[0] && rank[1] < bestRank[1])) {
        best = number
        bestRank = rank
      }
    }
    return best
  }

  return {
    observe: (key, service) => {
      const pool = service && poolOf(service)?.name
      if (pool === undefined || service === undefined) return hold(key, undefined)
      hold(key, { pool, numbers: [...new Set((service.spec?.ports ?? []).map(({ port }) => port))] })
    },
    allot: (key, { pool, present, mayMove }) => {
      const own = held.get(key)
      const before = own?.pool === pool.name ? own.numbers : []
      // Uses are those of the other worlds.
      const usesOfOthers = (number: number) => usesOf(pool.name, number) - (before.includes(number) ? 1 : 0)
      const wanted = present.map((number, at) => number ?? before[at])
      const numbers: number[] = []
      for (const number of wanted) {
        const isFree = number !== undefined && !numbers.includes(number)
        if (isFree && (!mayMove || usesOfOthers(number) === 0)) {
          numbers.push(number)
          continue
        }
        const best = findLeastUsed(pool, new Set([...wanted, ...numbers]))
        numbers.push(isFree && usesOfOthers(number) <= usesOfOthers(best) ? number : best)
      }
      hold(key, { pool: pool.name, numbers })
      return { numbers, isCrowded: numbers.some((number) => usesOf(pool.name, number) > 1) }
    },
  }
}
