import type { WorldSpecInput } from '#shared/resources/world.ts'
import type { Scene } from './scene.ts'

/** What users do to one world, from nothing; it ends once what they wanted is there. */
export type Workload = {
  readonly name: string
  readonly run: (scene: Scene) => Promise<unknown>
  /** Whether the writer dies at the writes of events as well. */
  readonly events?: boolean
}

const behaves = (how: string): WorldSpecInput => ({ runtime: { args: [how] } })

const active = async (scene: Scene, also: WorldSpecInput = {}): Promise<void> => {
  await scene.start(1, also)
  await scene.phase('Active')
}

const stopped = async (scene: Scene): Promise<void> => {
  await scene.stop()
  await scene.phase('Stopped')
  await scene.noPod()
}

const edits: Record<string, WorldSpecInput> = {
  displayName: { displayName: 'Foyer' },
  transient: { transient: true },
  durationMinutes: { durationMinutes: 600 },
  scaling: { scaling: { profile: 'Capacity10' } },
  compute: { compute: { group: 'staging' } },
  networking: { networking: { strategy: 'ClusterIP' } },
  runtime: { runtime: { mapName: 'hall' } },
  metadata: { metadata: { labels: { a: 'b' } } },
}

const editWorkloads: Workload[] = Object.entries(edits).flatMap(([field, changes]) => [
  {
    name: `edit ${field} while Active`,
    run: async (scene) => {
      await active(scene)
      await scene.edit(changes)
      await scene.phase('Active')
    },
  },
  {
    name: `edit ${field} while Stopped, then start`,
    run: async (scene) => {
      await scene.edit()
      await scene.phase('Inactive')
      await scene.edit(changes)
      await scene.phase('Inactive')
      await active(scene)
    },
  },
])

const lives: Workload[] = [
  {
    name: 'create',
    run: async (scene) => {
      await scene.edit()
      await scene.phase('Inactive')
    },
  },
  { name: 'start', events: true, run: active },
  {
    name: 'start by hand, without a run',
    run: async (scene) => {
      await scene.startByHand()
      await scene.phase('Active')
    },
  },
  {
    name: 'stop',
    events: true,
    run: async (scene) => {
      await active(scene)
      await stopped(scene)
    },
  },
  {
    name: 'stop while Starting',
    run: async (scene) => {
      await scene.start(1, behaves('never'))
      await scene.livePod()
      await stopped(scene)
    },
  },
  {
    name: 'stop, then start',
    run: async (scene) => {
      await active(scene)
      await stopped(scene)
      await scene.start(2)
      await scene.phase('Active')
    },
  },
  {
    name: 'restart',
    events: true,
    run: async (scene) => {
      await active(scene)
      await scene.start(2)
      await scene.phase('Active')
    },
  },
  {
    name: 'restart while Starting',
    run: async (scene) => {
      await scene.start(1, behaves('never'))
      await scene.livePod()
      await scene.start(2, behaves('ready'))
      await scene.phase('Active')
    },
  },
]

const ends: Workload[] = [
  {
    name: 'delete',
    events: true,
    run: async (scene) => {
      await active(scene)
      await scene.delete()
      await scene.gone()
    },
  },
  {
    name: 'delete while creating',
    run: async (scene) => {
      await scene.start(1, behaves('never'))
      await scene.livePod()
      await scene.delete()
      await scene.gone()
    },
  },
  {
    name: 'delete while Inactive',
    run: async (scene) => {
      await scene.edit()
      await scene.phase('Inactive')
      await scene.delete()
      await scene.gone()
    },
  },
  {
    name: 'delete while Stopped',
    run: async (scene) => {
      await active(scene)
      await stopped(scene)
      await scene.delete()
      await scene.gone()
    },
  },
  {
    name: 'expiry, by an edit of the duration',
    events: true,
    run: async (scene) => {
      await active(scene)
      await scene.edit({ durationMinutes: 0.001 })
      await scene.phase('Stopped')
      await scene.noPod()
    },
  },
  {
    name: 'expiry, by the clock',
    run: async (scene) => {
      await scene.start(1, { ...behaves('never'), durationMinutes: 0.2 })
      await scene.livePod()
      await scene.phase('Stopped')
      await scene.noPod()
    },
  },
  {
    name: 'expiry of a transient world',
    run: async (scene) => {
      await active(scene, { transient: true })
      await scene.edit({ durationMinutes: 0.001 })
      await scene.gone()
    },
  },
  {
    name: 'stop of a transient world, then expiry',
    run: async (scene) => {
      await active(scene, { transient: true, durationMinutes: 600 })
      await stopped(scene)
      await scene.edit({ durationMinutes: 0.001 })
      await scene.gone()
    },
  },
]

const faults: Workload[] = [
  {
    name: 'server ends the run',
    run: async (scene) => {
      await active(scene)
      await scene.serverExits(0)
      await scene.phase('Stopped')
      await scene.noPod()
    },
  },
  {
    name: 'server fails once',
    events: true,
    run: async (scene) => {
      await scene.start(1, behaves('fails-first'))
      await scene.phase('Active')
    },
  },
  {
    name: 'server fails too often, then a start',
    run: async (scene) => {
      await scene.start(1, behaves('fails'))
      await scene.phase('Error')
      await scene.noPod()
      await scene.start(2, behaves('ready'))
      await scene.phase('Active')
    },
  },
  {
    name: 'server is evicted',
    run: async (scene) => {
      await active(scene)
      const before = (await scene.livePod()).metadata.uid
      await scene.evict()
      await scene.until('another pod', async () => (await scene.livePod()).metadata.uid !== before)
      await scene.until('Ready', async () => isReady(await scene.world()))
    },
  },
  {
    name: 'server is deleted by kubectl',
    run: async (scene) => {
      await active(scene)
      const before = (await scene.livePod()).metadata.uid
      await scene.deletePod()
      await scene.until('another pod', async () => (await scene.livePod()).metadata.uid !== before)
      await scene.until('Ready', async () => isReady(await scene.world()))
    },
  },
  {
    name: "a stranger's pod is in the way, then goes",
    run: async (scene) => {
      await scene.strangersPod()
      await scene.start()
      await scene.until('Degraded', async () =>
        (await scene.world())?.status?.conditions?.some(({ type, status }) => type === 'Degraded' && status === 'True'),
      )
      await scene.deletePod()
      await scene.phase('Active')
    },
  },
]

const isReady = (world: Awaited<ReturnType<Scene['world']>>): boolean | undefined =>
  world?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')

/** All workloads of the operator. */
export const workloads: readonly Workload[] = [...lives, ...ends, ...faults, ...editWorkloads]
