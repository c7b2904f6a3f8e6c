import type { ParseResult } from '#shared/parseResult.ts'
import { maxPorts, portName, type WorldPort } from './ports.ts'

/** Ports of a node from `first` to `last`, both included. */
export type PortInterval = { readonly first: number; readonly last: number }

/** The host ports that the platform gives worlds: the intervals of each named range. */
export type HostPorts = ReadonlyMap<string, readonly PortInterval[]>

/** The range of ports without a `range`. */
const defaultRange = 'default'
/** The entry with the ports of the policy Static. It is no range of the other policies. */
const staticEntry = 'static'

/** The host ports without a configuration. */
export const defaultHostPorts = 'default=7000-8000'

/** The ports of services of type NodePort, unless the API server has other ones. */
const nodePorts: PortInterval = { first: 30_000, last: 32_767 }
const lowestPort = 1_024
const maxIntervals = 64

type Entry = PortInterval & { readonly name: string; readonly text: string }

/**
 * Parses host ports such as `default=7000-8000,voice=9000-9099,static=27015`. A name may occur several times. The intervals must not
 * overlap each other or the usual node ports.
 */
export const parseHostPorts = (text: string): ParseResult<HostPorts> => {
  const parsed = text.split(',').map((part) => readEntry(part.trim()))
  const entries = parsed.filter((each) => typeof each !== 'string')
  const errors = parsed.filter((each) => typeof each === 'string')
  if (parsed.length > maxIntervals) errors.push(`must have at most ${maxIntervals} entries`)
  for (const [at, one] of entries.entries()) {
    const other = entries.slice(0, at).find((each) => overlap(one, each))
    if (other !== undefined) errors.push(`${one.text} overlaps ${other.text}`)
  }
  if (errors.length > 0) return { errors }
  const ranges = Map.groupBy(entries, ({ name }) => name)
  for (const [name, intervals] of ranges) {
    const size = intervals.reduce((sum, { first, last }) => sum + last - first + 1, 0)
    if (name !== staticEntry && size < maxPorts) errors.push(`${name} must have at least ${maxPorts} ports`)
  }
  if (errors.length > 0) return { errors }
  return {
    value: new Map(
      [...ranges].map(([name, intervals]) => [name, intervals.map(({ first, last }) => ({ first, last }))]),
    ),
  }
}

const readEntry = (text: string): Entry | string => {
  const [, name = '', begin = '', end = begin] = /^([^=]+)=(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? []
  if (!portName().safeParse(name).success)
    return `${text || 'an empty entry'} must be a named range such as default=7000-8000`
  const interval = { first: Number(begin), last: Number(end) }
  if (interval.first < lowestPort || interval.last > 65_535 || interval.first > interval.last) {
    return `${text} must be within ${lowestPort} and 65535, the smaller port first`
  }
  if (overlap(interval, nodePorts)) return `${text} overlaps the node ports ${nodePorts.first}-${nodePorts.last}`
  return { ...interval, name, text }
}

const overlap = (one: PortInterval, other: PortInterval): boolean => one.first <= other.last && other.first <= one.last

const isWithin = (port: number, intervals: readonly PortInterval[] = []): boolean =>
  intervals.some(({ first, last }) => first <= port && port <= last)

/** Returns the name of the range that a host port comes from, or undefined for the policy Static. */
export const rangeOf = ({ policy, range = defaultRange }: Pick<WorldPort, 'policy' | 'range'>): string | undefined =>
  policy === 'Static' ? undefined : range

/** Reports whether a world's port may have that host port. */
export const isFitting = (port: number, { hostPort, ...of }: WorldPort, hostPorts: HostPorts): boolean => {
  const range = rangeOf(of)
  return range === undefined ? port === hostPort : isWithin(port, hostPorts.get(range))
}

/** Returns why the platform has no host port for one of these ports, or undefined if it has. */
export const explainHostPorts = (ports: readonly WorldPort[], hostPorts: HostPorts): string | undefined => {
  for (const port of ports) {
    const { name, hostPort = 0 } = port
    const range = rangeOf(port)
    if (range === undefined && !isWithin(hostPort, hostPorts.get(staticEntry))) {
      return `Host port ${hostPort} of port ${name} is no static port of the platform. ${describe('Static ports', staticTexts(hostPorts))}`
    }
    if (range !== undefined && (range === staticEntry || !hostPorts.has(range))) {
      const names = [...hostPorts.keys()].filter((each) => each !== staticEntry)
      return `Range ${range} of port ${name} is no range of host ports of the platform. ${describe('Ranges', names)}`
    }
  }
  return undefined
}

const staticTexts = (hostPorts: HostPorts): string[] =>
  (hostPorts.get(staticEntry) ?? []).map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`))

const describe = (what: string, known: readonly string[]): string => `${what}: ${known.join(', ') || 'none'}.`
