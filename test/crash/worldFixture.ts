import type { Pod } from '#operator/pods/pod.ts'
import type { AwakeReason } from '#shared/domain/idle.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer, fieldManagers, groupVersion, labels } from '#shared/resources/group.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import type { Counts, PlayerServers } from '#test/support/playerServers.ts'
import { exited } from '#test/support/podStatuses.ts'
import { createBotFixture } from './botFixture.ts'
import { normalized, pick, pickPod, pickWorld } from './endState.ts'
import type { Simulator } from './simulator.ts'
import { orAbsent, until } from './until.ts'

/** The name of the one world of each fixture. */
export const worldName = 'wld-00000000000000000000000001'

/** Returns the id of the run with that number. */
export const runId = (number: number): string => `run-${String(number).padStart(26, '0')}`

type Changes = { readonly [K in keyof WorldSpecInput]: WorldSpecInput[K] | undefined }

/** Creates a fixture with one world in its own namespace, and the actions and waits of its users. */
export const createWorldFixture = (
  simulator: Simulator,
  namespace: string,
  project: string,
  servers: Pick<PlayerServers, 'report'> = { report: () => undefined },
) => {
  const ref = { namespace, name: worldName }
  let spec: WorldSpecInput = { displayName: 'Lobby', revision: 0 }
  const world = (): Promise<World | undefined> => orAbsent(simulator.worlds.get(ref))
  const pod = (): Promise<Pod | undefined> => orAbsent(simulator.pods.get(ref))
  const bots = createBotFixture(simulator, { namespace, project, worldName })
  /** Applies the spec with these changes, as the API does. Undefined removes a field. */
  const edit = async (changes: Changes = {}): Promise<void> => {
    spec = withDefined({ ...spec, ...changes, revision: (spec.revision ?? 0) + 1 })
    await simulator.worlds.apply(
      {
        apiVersion: groupVersion,
        kind: 'World',
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
    bots,
    world,
    pod,
    edit,
    phase,
    livePod,
    until,
    start: (run = 1, also: WorldSpecInput = {}) =>
      edit({ state: 'Running', runId: runId(run), startedAt: new Date().toISOString(), ...also }),
    /** Starts the world as kubectl does: the operator creates the run id. */
    startByHand: () => edit({ state: 'Running' }),
    stop: () => edit({ state: 'Stopped' }),
    delete: () => simulator.worlds.delete(ref),
    deletePod: async () => simulator.pods.delete(ref, { uid: (await livePod()).metadata.uid ?? '' }),
    serverExits: async (exitCode: number) => void (await simulator.status(await livePod(), exited(exitCode))),
    evict: async () => void (await simulator.status(await livePod(), { phase: 'Failed', reason: 'Evicted' })),
    strangersPod: () =>
      simulator.pods.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { ...ref, labels: { [labels.project]: project, [labels.world]: worldName } },
        spec: { containers: [{ name: 'stranger', image: 'i', args: ['never'] }] },
      }),
    /** Sets the players that the server says. */
    report: (counts: Counts) => servers.report(`${namespace}/${worldName}`, counts),
    /** Waits until the status says that this keeps the world awake. */
    keptAwakeBy: (reason: AwakeReason | undefined) =>
      until(`kept awake by ${reason}`, async () => {
        const idle = (await world())?.status?.idle
        return idle !== undefined && idle.keptAwakeBy === reason
      }),
    /** Lets time pass until the world sleeps. */
    fallsAsleep: () =>
      until('the world sleeps', async () => {
        await simulator.passMinutes(ref, 601)
        return (await world())?.status?.idle?.asleepSince !== undefined
      }),
    noPod: () => until('no pod', async () => (await pod()) === undefined),
    gone: () => until('the world is gone', async () => (await world()) === undefined),
    settled: () =>
      until('the status is about the newest spec', async () => {
        const all = [await world(), await bots.deployment()]
        return all.every((seen) => seen === undefined || seen.status?.observedGeneration === seen.metadata.generation)
      }),
    /** Returns the remaining objects without the parts that differ between runs: times, uids, versions. */
    endState: async (): Promise<string> => {
      const { items } = await simulator.pods.list({ namespace })
      const [seen, deployment] = [await world(), await bots.deployment()]
      const left = { world: seen && pickWorld(seen), bots: deployment && pick(deployment), pods: items.map(pickPod) }
      return normalized(left).replaceAll(project, '<project>')
    },
    /** Returns the pods whose owner does not exist, or is another object. */
    violations: async (): Promise<string[]> => {
      const owners = [await world(), await bots.deployment()].map((owner) => owner?.metadata.uid)
      const { items } = await simulator.pods.list({ namespace })
      return items
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => !owners.includes(uid)))
        .map(({ metadata }) => `orphan ${metadata.name}`)
    },
  }
}

/** A fixture with one world. */
export type WorldFixture = ReturnType<typeof createWorldFixture>
