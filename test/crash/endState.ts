import type { Pod } from '#operator/pods/pod.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { World, WorldDeploymentStatus } from '#shared/resources/world.ts'

/** Returns the part of a resource that must be the same after each run. */
export const pick = ({ metadata, spec, status }: KubeObject & { spec?: unknown; status?: unknown }): object => {
  const { name, labels: marks, finalizers, generation, deletionTimestamp } = metadata
  return { metadata: { name, marks, finalizers, generation, deletionTimestamp }, spec, status }
}

/** Replaces the revisions and generations of a resource, as `pick` returns it, with whether they are its newest ones. */
export const withoutNumbers = (picked: object): object => {
  const { metadata, spec } = picked as { metadata: { generation?: number }; spec?: { revision?: number } }
  const newest: Readonly<Record<string, unknown>> = {
    generation: metadata.generation,
    observedGeneration: metadata.generation,
    revision: spec?.revision,
    observedRevision: spec?.revision,
  }
  const text = JSON.stringify(picked, (key, value: unknown) => {
    if (!Object.hasOwn(newest, key)) return value
    return value === newest[key] ? '<newest>' : '<older>'
  })
  return JSON.parse(text) as object
}

/** Returns the part of a World that must be the same after each run. */
export const pickWorld = (world: World): object => pick({ ...world, status: pickWorldStatus(world) })

/** Returns the part of a pod that must be the same after each run. */
export const pickPod = ({ metadata, spec, status }: Pod): object => {
  const { name, labels: marks, ownerReferences, deletionTimestamp } = metadata
  return { metadata: { name, marks, ownerReferences, deletionTimestamp }, spec, phase: status?.phase }
}

/**
 * Returns the comparable part of a World's status. Whether it names a pod that was never Ready depends on the lifetime
 * of the pod, and so on how soon the next operator started.
 */
const pickWorldStatus = ({ status }: World): object | undefined => {
  if (status === undefined) return undefined
  const { deployment, previousDeployment, address, addresses, ...rest } = status
  const hasService = status.run !== undefined && status.run.strategy !== 'Default'
  // A service gets any address of the cluster's range.
  const atService = <T extends object>(at: T): T => (hasService ? { ...at, host: '<of the service>' } : at)
  const of = (each: WorldDeploymentStatus | undefined, isSure: boolean) =>
    each === undefined || isSure ? each : { ...each, externalId: '<reported or not>' }
  return {
    ...rest,
    address: address && atService(address),
    addresses: addresses?.map(atService),
    deployment: of(deployment, status.run?.readyAt !== undefined || status.run?.countedPodUid !== undefined),
    previousDeployment: of(previousDeployment, false),
  }
}

/** Generated ids. Those of a workload begin with zeros and do not change. */
const madeId = /(org|prj|wld|lctx|bot|run|dep|key)-(?!000000)[0-9a-z]{26}/g

/** Replaces generated ids in a name, since they differ between runs. */
export const withoutIds = (name: string): string => name.replaceAll(madeId, '$1-<made>')

/** Formats a value as lines of text without the parts that differ between runs. */
export const normalized = (value: unknown): string =>
  withoutIds(JSON.stringify(sorted(value), undefined, 1))
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/"\d+ \d+ \d+ \d+ \*"/g, '"<cron>"')
    .replaceAll(/"127(\.\d+){3}"/g, '"<address of a server>"')
    .replaceAll(/"startedAt": \d{13}/g, '"startedAt": "<time>"')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]))
}
