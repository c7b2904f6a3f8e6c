import { isDeepStrictEqual } from 'node:util'
import { countLimits, type Limits } from '#api/domain/access/limits.ts'
import { botBytes, botDefaults, botMillicores } from '#shared/domain/bots.ts'
import { toBotUse } from '#shared/domain/botUse.ts'
import { maxServicePorts } from '#shared/domain/ports.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { toNumber } from '#shared/quantities.ts'
import { definitionName, type Kind, kindList } from '#shared/resources/group.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'

type Quantities = Readonly<Record<string, string>>

/** A ResourceQuota (core/v1). */
export type ResourceQuota = KubeObject & {
  readonly spec: { readonly hard: Quantities }
}
/** A LimitRange (core/v1). */
export type LimitRange = KubeObject & { readonly spec: { readonly limits: readonly LimitRangeItem[] } }
type LimitRangeItem = { readonly type: string } & { readonly [field in LimitField]?: Quantities }
const limitFields = ['max', 'default', 'defaultRequest'] as const
type LimitField = (typeof limitFields)[number]

/** The limits of an organization that its quotas are computed from. */
export type ClusterLimits = Pick<
  Limits,
  | (typeof countLimits)[Kind]
  | 'maxWorldCapacity'
  | 'maxRunningCapacity'
  | 'maxNodePorts'
  | 'maxLoadBalancers'
  | 'maxBotCpu'
  | 'maxBotMemory'
>

const name = 'orrery'
const mebibyte = 2 ** 20

/**
 * Returns the ResourceQuota of an organization's namespace. It has room for `maxRunningCapacity` in the profiles that
 * need the most for their capacity, and for the bots of `maxBotCpu` and `maxBotMemory`, plus 10 % for pods that are still
 * stopping, and at least one more of the largest server and bot. Services have the same margin, and at least one more of the
 * largest Service.
 */
export const resourceQuota = (namespace: string, limits: ClusterLimits, profiles: ScalingProfiles): ResourceQuota => {
  const { maxRunningCapacity } = limits
  const servers = allowedServers(limits, profiles)
  const bots = toBotUse(limits)
  const sum = ({ perCapacity, largest }: Largest, ofBots: number): number => {
    const needed = maxRunningCapacity * perCapacity + ofBots
    // A bot is at most as large as the server of its world.
    return needed + Math.max(largest + Math.min(largest, ofBots), needed / 10)
  }
  const pods = maxRunningCapacity * (1 + servers.perCapacity)
  const millicores = sum(servers.millicores, bots.millicores)
  const bytes = sum(servers.bytes, bots.bytes)
  return {
    apiVersion: 'v1',
    kind: 'ResourceQuota',
    metadata: { name, namespace },
    spec: {
      hard: {
        ...Object.fromEntries(
          kindList.map((kind) => [`count/${definitionName(kind)}`, String(limits[countLimits[kind]])]),
        ),
        pods: String(Math.ceil(pods + Math.max(2, pods / 10))),
        'services.nodeports': String(withMargin(limits.maxNodePorts, maxServicePorts)),
        'services.loadbalancers': String(withMargin(limits.maxLoadBalancers, 1)),
        'limits.cpu': cpuQuantity(millicores),
        'limits.memory': memoryQuantity(bytes),
      },
    },
  }
}

/** Returns a limit with room for services that are being deleted while others are created. 0 stays 0. */
const withMargin = (limit: number, least: number): number =>
  limit === 0 ? 0 : limit + Math.max(least, Math.ceil(limit / 10))

/**
 * Returns the LimitRange of an organization's namespace: no container is larger than the largest server that the organization
 * may run. No bot is larger either. A container without limits gets those of a bot.
 */
export const limitRange = (namespace: string, limits: ClusterLimits, profiles: ScalingProfiles): LimitRange => {
  const servers = allowedServers(limits, profiles)
  const millicores = Math.max(servers.millicores.largest, smallest.millicores)
  const bytes = Math.max(servers.bytes.largest, smallest.bytes)
  const others = {
    cpu: cpuQuantity(Math.min(millicores, botMillicores(botDefaults))),
    memory: memoryQuantity(Math.min(bytes, botBytes(botDefaults))),
  }
  const max = { cpu: cpuQuantity(millicores), memory: memoryQuantity(bytes) }
  return {
    apiVersion: 'v1',
    kind: 'LimitRange',
    metadata: { name, namespace },
    spec: { limits: [{ type: 'Container', max, default: others, defaultRequest: others }] },
  }
}

/** A LimitRange must leave room for something. */
const smallest = { millicores: 1, bytes: mebibyte }

type Largest = { readonly perCapacity: number; readonly largest: number }

/** Returns the most that a server of an allowed profile needs, absolutely and for each unit of its capacity. */
const allowedServers = ({ maxWorldCapacity }: ClusterLimits, profiles: ScalingProfiles) => {
  const allowed = Object.values(profiles).filter(({ capacity }) => capacity <= maxWorldCapacity)
  const most = (sizeOf: (profile: (typeof allowed)[number]) => number): Largest => ({
    perCapacity: Math.max(0, ...allowed.map((profile) => sizeOf(profile) / profile.capacity)),
    largest: Math.max(0, ...allowed.map(sizeOf)),
  })
  return {
    perCapacity: most(() => 1).perCapacity,
    millicores: most(({ cpuLimit }) => toNumber(cpuLimit) * 1_000),
    bytes: most(({ memoryLimit }) => toNumber(memoryLimit)),
  }
}

const cpuQuantity = (millicores: number): string => `${Math.ceil(millicores)}m`
const memoryQuantity = (bytes: number): string => `${Math.ceil(bytes / mebibyte)}Mi`

/** Reports whether two quotas have equal values, however the API server writes their quantities. */
export const isEqualQuota = (a: ResourceQuota, b: ResourceQuota): boolean =>
  isDeepStrictEqual({ ...a.spec, hard: numbersOf(a.spec.hard) }, { ...b.spec, hard: numbersOf(b.spec.hard) })

/** Reports whether two LimitRanges have equal values. */
export const isEqualLimitRange = (a: LimitRange, b: LimitRange): boolean =>
  isDeepStrictEqual(a.spec.limits.map(itemNumbers), b.spec.limits.map(itemNumbers))

const itemNumbers = (item: LimitRangeItem) => ({
  ...item,
  ...Object.fromEntries(limitFields.map((field) => [field, numbersOf(item[field] ?? {})])),
})

const numbersOf = (quantities: Quantities) =>
  Object.fromEntries(Object.entries(quantities).map(([key, quantity]) => [key, toNumber(quantity)]))
