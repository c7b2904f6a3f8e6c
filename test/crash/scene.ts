import type { Pod } from '#operator/world/pod.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import { apiFinalizer, fieldManagers, groupVersion, labels } from '#shared/resources/group.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { eventually } from '#test/support/wait.ts'
import type { Cast } from './cast.ts'
import { exited } from './cast.ts'

/** The name of the one world of each scene. */
export const worldName = 'wld-00000000000000000000000001'
const waitMs = { timeoutMs: 60_000 }

const runId = (number: number): string => `run-${String(number).padStart(26, '0')}`

/** One world in a namespace of its own, with what its users do to it and what they wait for, in sentences. */
export const createScene = (cast: Cast, namespace: string, project: string) => {
  const ref = { namespace, name: worldName }
  let spec: WorldSpecInput = { displayName: 'Lobby', revision: 0 }
  const orAbsent = async <T>(call: Promise<T>): Promise<T | undefined> => {
    try {
      return await call
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }
  const world = (): Promise<World | undefined> => orAbsent(cast.worlds.get(ref))
  const pod = (): Promise<Pod | undefined> => orAbsent(cast.pods.get(ref))
  const until = <T>(what: string, look: () => Promise<T | undefined | false>) => eventually(what, look, waitMs)
  /** Applies the spec with these changes, as the api does. */
  const edit = async (changes: WorldSpecInput = {}): Promise<void> => {
    spec = { ...spec, ...changes, revision: (spec.revision ?? 0) + 1 }
    await cast.worlds.apply(
      {
        ...{ apiVersion: groupVersion, kind: 'World' },
        metadata: { ...ref, labels: { [labels.project]: project }, finalizers: [apiFinalizer] },
        spec,
      },
      { fieldManager: fieldManagers.api, force: true },
    )
  }
  const phase = (wanted: string) =>
    until(`phase ${wanted}`, async () => {
      const seen = await world()
      return seen?.status?.phase === wanted && seen.status.observedGeneration === seen.metadata.generation && seen
    })
  const livePod = () =>
    until('a pod that stays', async () => {
      const seen = await pod()
      return seen?.metadata.deletionTimestamp === undefined && seen
    })
  return {
    namespace,
    world,
    pod,
    edit,
    phase,
    livePod,
    until,
    start: (run = 1, also: WorldSpecInput = {}) =>
      edit({ state: 'Running', runId: runId(run), startedAt: new Date().toISOString(), ...also }),
    /** A start by kubectl: the operator makes the run. */
    startByHand: () => edit({ state: 'Running' }),
    stop: () => edit({ state: 'Stopped' }),
    delete: () => cast.worlds.delete(ref),
    deletePod: async () => cast.pods.delete(ref, { uid: (await livePod()).metadata.uid ?? '' }),
    serverExits: async (exitCode: number) => void (await cast.status(await livePod(), exited(exitCode))),
    evict: async () => void (await cast.status(await livePod(), { phase: 'Failed', reason: 'Evicted' })),
    strangersPod: () =>
      cast.pods.create({
        ...{ apiVersion: 'v1', kind: 'Pod' },
        metadata: { ...ref, labels: { [labels.project]: project, [labels.world]: worldName } },
        spec: { containers: [{ name: 'stranger', image: 'i', args: ['never'] }] },
      }),
    noPod: () => until('no pod', async () => (await pod()) === undefined),
    gone: () => until('the world is gone', async () => (await world()) === undefined),
    settled: () =>
      until('the status is about the newest spec', async () => {
        const seen = await world()
        return seen === undefined || seen.status?.observedGeneration === seen.metadata.generation
      }),
    /** All that is left in the namespace, without what is another at each run: instants, uids, versions. */
    endState: async (): Promise<string> => {
      const { items } = await cast.pods.list({ namespace })
      const seen = await world()
      return normalized({ world: seen && pickWorld(seen), pods: items.map(pickPod) }).replaceAll(project, '<project>')
    },
    /** Pods whose world is not there, or is another. */
    orphans: async (): Promise<string[]> => {
      const owner = (await world())?.metadata.uid
      const { items } = await cast.pods.list({ namespace })
      return items
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ kind, uid }) => kind === 'World' && uid !== owner))
        .map(({ metadata }) => metadata.name)
    },
  }
}

/** One world, and what happens to it. */
export type Scene = ReturnType<typeof createScene>

const pickWorld = ({ metadata, spec, status }: World): object => {
  const { name, labels: marks, finalizers, generation, deletionTimestamp } = metadata
  return { metadata: { name, marks, finalizers, generation, deletionTimestamp }, spec, status }
}

const pickPod = ({ metadata, spec, status }: Pod): object => {
  const { name, labels: marks, ownerReferences, deletionTimestamp } = metadata
  return { metadata: { name, marks, ownerReferences, deletionTimestamp }, spec, phase: status?.phase }
}

const normalized = (value: unknown): string =>
  JSON.stringify(sorted(value), undefined, 1)
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uid>')
    .replaceAll(/(run|dep)-(?!000000)[0-9a-z]{26}/g, '$1-<made>')

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, each]) => [name, sorted(each)]))
}
