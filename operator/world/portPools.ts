import type { Service } from '#operator/pods/service.ts'
import { maxPorts } from '#shared/domain/ports.ts'
import type { ParseResult } from '#shared/parseResult.ts'
import { apiGroup } from '#shared/resources/group.ts'

/** A range of ports at the addresses that load balancers share. */
export type PortPool = { readonly name: string; readonly first: number; readonly last: number }

/** The pattern of a range such as `7000-7999`. */
export const rangePattern = /^(\d{1,5})-(\d{1,5})$/

/** Parses a range such as `7000-7999`. It must have enough ports for one world. */
export const parseRange = (text: string): ParseResult<Omit<PortPool, 'name'>> => {
  const [, first = 0, last = 0] = (rangePattern.exec(text) ?? []).map(Number)
  return first >= 1 && last <= 65_535 && last - first + 1 >= maxPorts
    ? { value: { first, last } }
    : { errors: [`must be a range of at least ${maxPorts} ports, such as 7000-7999`] }
}

/** The annotation of a Service with the name of the pool of its ports. */
const poolAnnotation = `${apiGroup}/port-pool`

/** Returns the annotation of a Service with ports of that pool. */
export const toPoolAnnotation = ({ name }: PortPool): Record<string, string> => ({ [poolAnnotation]: name })

/** Returns the name of the pool of a Service's ports, or undefined if it shares no address. */
export const poolNameOf = ({ metadata }: Service): string | undefined => metadata.annotations?.[poolAnnotation]

/** Returns the address that a load balancer gave a Service: an IP address or a host name. */
export const ingressHostOf = ({ status }: Service): string | undefined => {
  const ingress = status?.loadBalancer?.ingress?.[0]
  return ingress?.ip ?? ingress?.hostname
}

/** A request for `count` ports of a pool, for a world without an address. */
export type PortRequest = {
  readonly pool: PortPool
  readonly count: number
  /** The ports of its Service, if it has one. */
  readonly present: readonly number[] | undefined
}

/** The ports of a world. `isCrowded` if no address of the pool has enough free ports, so that the world needs a further address. */
export type AllottedPorts = { readonly numbers: readonly number[]; readonly isCrowded: boolean }

/** Allots ports to one world. The same request gives the same ports until a Service changes. */
export type AllotPorts = (request: PortRequest) => AllottedPorts

/** The ports in use at the addresses of load balancers. */
export type PortPools = {
  /**
   * Records the Service of the world of that key (`namespace/name`), or with undefined that it has none. `toldHost` is the address that
   * the players of its run know. It counts while the Service has none.
   */
  observe(key: string, service: Service | undefined, toldHost?: string): void
  /** Allots ports, and holds them for that world until `observe` says otherwise. */
  allot(key: string, request: PortRequest): AllottedPorts
}

/** The host of Services that wait for an address which the pool does not have yet. */
const furtherHost = ''

type Held = { readonly pool: string | undefined; readonly numbers: readonly number[]; readonly host: string }

/**
 * Creates pools without Services. The Services are the record of the ports in use, and the load balancer refuses a port that is taken
 * at an address. So nothing is written first, and nothing leaks: a pool only counts.
 *
 * The ports of a world must all be free at one address. A Service without an address counts at the one where its ports are free; if
 * there is none, it takes nothing from the others. Ports are used in turn, because the players of an ended world may still send packets
 * to its port.
 */
export const createPortPools = (): PortPools => {
  const held = new Map<string, Held>()
  /** The number of Services for each port of a host. */
  const uses = new Map<string, Map<number, number>>()
  /** The hosts of each pool, with the number of Services that count there. */
  const hosts = new Map<string, Map<string, number>>()
  /** The last port that each pool allotted. */
  const cursors = new Map<string, number>()

  const hostOf = ({ pool, host }: Held): string => (host === furtherHost ? `${furtherHost}/${pool}` : host)
  const hold = (key: string, next: Held | undefined): void => {
    const before = held.get(key)
    if (before !== undefined) {
      held.delete(key)
      for (const number of before.numbers) count(uses, hostOf(before), number, -1)
      if (before.pool !== undefined && before.host !== furtherHost) count(hosts, before.pool, before.host, -1)
    }
    if (next === undefined) return
    held.set(key, next)
    for (const number of next.numbers) count(uses, hostOf(next), number, 1)
    if (next.pool !== undefined && next.host !== furtherHost) count(hosts, next.pool, next.host, 1)
  }
  const isUsed = (at: readonly string[], number: number): boolean => at.some((host) => uses.get(host)?.has(number))
  const isFreeAt = (at: readonly string[], numbers: readonly number[]): boolean =>
    numbers.every((number) => !isUsed(at, number))
  const findFree = ({ name, first, last }: PortPool, at: readonly string[], wanted: number): number[] | undefined => {
    const size = last - first + 1
    const found: number[] = []
    const cursor = cursors.get(name) ?? last
    for (let step = 1; step <= size && found.length < wanted; step += 1) {
      const number = first + ((Math.max(cursor - first, 0) + step) % size)
      if (!isUsed(at, number)) found.push(number)
    }
    return found.length === wanted ? found : undefined
  }
  const place = (
    { pool, count: wanted, present }: PortRequest,
    last: readonly number[] | undefined,
  ): Held & { isCrowded: boolean } => {
    const known = [...(hosts.get(pool.name)?.keys() ?? [])]
    const further = { pool: pool.name, host: furtherHost, isCrowded: known.length > 0 }
    // The load balancer chooses the address, so ports that are free at all of them come first.
    for (const at of known.length > 1 ? [known, ...known.map((host) => [host])] : known.map((host) => [host])) {
      const numbers = [present, last].find((each) => each && isFreeAt(at, each)) ?? findFree(pool, at, wanted)
      const [host] = at
      if (numbers !== undefined && host !== undefined) return { pool: pool.name, numbers, host, isCrowded: false }
    }
    const waiting = [hostOf({ ...further, numbers: [] })]
    if (present !== undefined && isFreeAt(waiting, present)) return { ...further, numbers: present }
    const free = findFree(pool, waiting, wanted) ?? present
    return { ...further, numbers: free ?? Array.from({ length: wanted }, (_, at) => pool.first + at) }
  }

  return {
    observe: (key, service, toldHost) => {
      if (service?.spec?.type !== 'LoadBalancer') return hold(key, undefined)
      const numbers = [...new Set((service.spec.ports ?? []).map(({ port }) => port))]
      const before = held.get(key)
      // An address that is missing for a moment may come back.
      const last = before !== undefined && isEqual(before.numbers, numbers) ? before.host : furtherHost
      hold(key, { pool: poolNameOf(service), numbers, host: ingressHostOf(service) ?? toldHost ?? last })
    },
    allot: (key, request) => {
      const own = held.get(key)
      const isOwn = own?.pool === request.pool.name && own.numbers.length === request.count
      const last = isOwn ? own.numbers : undefined
      const present = request.present ?? last
      hold(key, undefined)
      const { isCrowded, ...placed } = place({ ...request, present }, last)
      hold(key, placed)
      const { numbers } = placed
      if (numbers !== present && numbers !== last) cursors.set(request.pool.name, numbers.at(-1) ?? request.pool.first)
      return { numbers, isCrowded }
    },
  }
}

/** Adds to a count of a map of maps. Counts of 0 are removed. */
const count = <K>(counts: Map<string, Map<K, number>>, of: string, key: K, change: 1 | -1): void => {
  const inner = counts.get(of) ?? new Map<K, number>()
  counts.set(of, inner)
  const value = (inner.get(key) ?? 0) + change
  if (value === 0) inner.delete(key)
  else inner.set(key, value)
  if (inner.size === 0) counts.delete(of)
}

const isEqual = (some: readonly number[], others: readonly number[]): boolean =>
  some.length === others.length && some.every((each, at) => each === others[at])
