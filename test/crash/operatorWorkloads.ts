import type { BotDeploymentSpec } from '#shared/resources/botDeployment.ts'
import type { WorldSpecInput } from '#shared/resources/world.ts'
import type { Workload } from './performer.ts'
import { runId, type Scene } from './scene.ts'

type OperatorWorkload = Workload<Scene>

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

const editWorkloads: OperatorWorkload[] = Object.entries(edits).flatMap(([field, changes]) => [
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

const lives: OperatorWorkload[] = [
  {
    name: 'create',
    run: async (scene) => {
      await scene.edit()
      await scene.phase('Inactive')
    },
  },
  { name: 'start', everyWrite: true, run: active },
  {
    name: 'start by hand, without a run',
    run: async (scene) => {
      await scene.startByHand()
      await scene.phase('Active')
    },
  },
  {
    name: 'stop',
    everyWrite: true,
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
    everyWrite: true,
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

const ends: OperatorWorkload[] = [
  {
    name: 'delete',
    everyWrite: true,
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
    everyWrite: true,
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

const faults: OperatorWorkload[] = [
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
    everyWrite: true,
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

/** An Active world with two bots that are Ready. */
const withBots = async (scene: Scene, also: Partial<BotDeploymentSpec> = {}): Promise<void> => {
  await active(scene)
  await scene.bots.edit(also)
  await scene.bots.are('Running', also.count ?? 2)
}

const bots: OperatorWorkload[] = [
  { name: 'bots of an Active world', everyWrite: true, run: withBots },
  {
    name: 'bots that wait for their world',
    run: async (scene) => {
      await scene.edit()
      await scene.phase('Inactive')
      await scene.bots.edit()
      await scene.bots.are('Pending', 0)
      await active(scene)
      await scene.bots.are('Running', 2)
    },
  },
  {
    name: 'bots are scaled up',
    run: async (scene) => {
      await withBots(scene, { count: 1 })
      await scene.bots.edit({ count: 3 })
      await scene.bots.are('Running', 3)
    },
  },
  {
    name: 'bots are scaled down',
    run: async (scene) => {
      await withBots(scene, { count: 3 })
      await scene.bots.edit({ count: 1 })
      await scene.bots.are('Running', 1)
    },
  },
  {
    name: 'bots are scaled to 0, and back',
    run: async (scene) => {
      await withBots(scene)
      await scene.bots.edit({ count: 0 })
      await scene.bots.are('Running', 0)
      await scene.bots.edit({ count: 1 })
      await scene.bots.are('Running', 1)
    },
  },
  {
    name: 'bots of a world that stops',
    run: async (scene) => {
      await withBots(scene)
      await stopped(scene)
      await scene.bots.are('Stopped', 0)
    },
  },
  {
    name: 'bots of a world that is started again',
    run: async (scene) => {
      await withBots(scene)
      await scene.start(2)
      await scene.phase('Active')
      await scene.bots.ofRun(runId(2))
      await scene.bots.are('Running', 2)
    },
  },
  {
    name: 'bots that fail once',
    everyWrite: true,
    run: (scene) => withBots(scene, { args: ['fails-first'] }),
  },
  {
    name: 'bots that fail too often',
    run: async (scene) => {
      await active(scene)
      await scene.bots.edit({ count: 1, args: ['fails'] })
      await scene.bots.are('Error', 0)
    },
  },
  {
    name: 'bots that end',
    run: async (scene) => {
      await active(scene)
      await scene.bots.edit({ args: ['ends'] })
      await scene.bots.are('Stopped', 0)
    },
  },
  {
    name: 'expiry of bots',
    run: async (scene) => {
      await withBots(scene)
      await scene.bots.edit({ durationMinutes: 0.001 })
      await scene.bots.are('Stopped', 0)
    },
  },
  {
    name: 'bots are deleted',
    everyWrite: true,
    run: async (scene) => {
      await withBots(scene)
      await scene.bots.delete()
      await scene.bots.gone()
    },
  },
  {
    name: 'bots are deleted while Starting',
    run: async (scene) => {
      await active(scene)
      await scene.bots.edit({ args: ['never'] })
      await scene.bots.are('Starting', 2)
      await scene.bots.delete()
      await scene.bots.gone()
    },
  },
  {
    name: 'bots and their world are deleted',
    run: async (scene) => {
      await withBots(scene)
      await scene.bots.delete()
      await scene.delete()
      await scene.bots.gone()
      await scene.gone()
    },
  },
]

const isReady = (world: Awaited<ReturnType<Scene['world']>>): boolean | undefined =>
  world?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')

/** All workloads of the operator. */
export const operatorWorkloads: readonly OperatorWorkload[] = [...lives, ...ends, ...faults, ...bots, ...editWorkloads]
