import type { BotDeploymentSpec } from '#shared/resources/botDeployment.ts'
import type { WorldSpecInput } from '#shared/resources/world.ts'
import type { Workload } from './runner.ts'
import { runId, type WorldFixture } from './worldFixture.ts'

type OperatorWorkload = Workload<WorldFixture>

const withBehaviour = (how: string): WorldSpecInput => ({ runtime: { args: [how] } })

const active = async (fixture: WorldFixture, also: WorldSpecInput = {}): Promise<void> => {
  await fixture.start(1, also)
  await fixture.phase('Active')
}

const stopped = async (fixture: WorldFixture): Promise<void> => {
  await fixture.stop()
  await fixture.phase('Stopped')
  await fixture.noPod()
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
    run: async (fixture) => {
      await active(fixture)
      await fixture.edit(changes)
      await fixture.phase('Active')
    },
  },
  {
    name: `edit ${field} while Stopped, then start`,
    run: async (fixture) => {
      await fixture.edit()
      await fixture.phase('Inactive')
      await fixture.edit(changes)
      await fixture.phase('Inactive')
      await active(fixture)
    },
  },
])

const lives: OperatorWorkload[] = [
  {
    name: 'create',
    run: async (fixture) => {
      await fixture.edit()
      await fixture.phase('Inactive')
    },
  },
  { name: 'start', everyWrite: true, run: active },
  {
    name: 'start by hand, without a run',
    run: async (fixture) => {
      await fixture.startByHand()
      await fixture.phase('Active')
    },
  },
  {
    name: 'stop',
    everyWrite: true,
    run: async (fixture) => {
      await active(fixture)
      await stopped(fixture)
    },
  },
  {
    name: 'stop while Starting',
    run: async (fixture) => {
      await fixture.start(1, withBehaviour('never'))
      await fixture.livePod()
      await stopped(fixture)
    },
  },
  {
    name: 'stop, then start',
    run: async (fixture) => {
      await active(fixture)
      await stopped(fixture)
      await fixture.start(2)
      await fixture.phase('Active')
    },
  },
  {
    name: 'restart',
    everyWrite: true,
    run: async (fixture) => {
      await active(fixture)
      await fixture.start(2)
      await fixture.phase('Active')
    },
  },
  {
    name: 'restart while Starting',
    run: async (fixture) => {
      await fixture.start(1, withBehaviour('never'))
      await fixture.livePod()
      await fixture.start(2, withBehaviour('ready'))
      await fixture.phase('Active')
    },
  },
]

const ends: OperatorWorkload[] = [
  {
    name: 'delete',
    everyWrite: true,
    run: async (fixture) => {
      await active(fixture)
      await fixture.delete()
      await fixture.gone()
    },
  },
  {
    name: 'delete while creating',
    run: async (fixture) => {
      await fixture.start(1, withBehaviour('never'))
      await fixture.livePod()
      await fixture.delete()
      await fixture.gone()
    },
  },
  {
    name: 'delete while Inactive',
    run: async (fixture) => {
      await fixture.edit()
      await fixture.phase('Inactive')
      await fixture.delete()
      await fixture.gone()
    },
  },
  {
    name: 'delete while Stopped',
    run: async (fixture) => {
      await active(fixture)
      await stopped(fixture)
      await fixture.delete()
      await fixture.gone()
    },
  },
  {
    name: 'expiry, by an edit of the duration',
    everyWrite: true,
    run: async (fixture) => {
      await active(fixture)
      await fixture.edit({ durationMinutes: 0.001 })
      await fixture.phase('Stopped')
      await fixture.noPod()
    },
  },
  {
    name: 'expiry, by the clock',
    run: async (fixture) => {
      await fixture.start(1, { ...withBehaviour('never'), durationMinutes: 0.2 })
      await fixture.livePod()
      await fixture.phase('Stopped')
      await fixture.noPod()
    },
  },
  {
    name: 'expiry of a transient world',
    run: async (fixture) => {
      await active(fixture, { transient: true })
      await fixture.edit({ durationMinutes: 0.001 })
      await fixture.gone()
    },
  },
  {
    name: 'stop of a transient world, then expiry',
    run: async (fixture) => {
      await active(fixture, { transient: true, durationMinutes: 600 })
      await stopped(fixture)
      await fixture.edit({ durationMinutes: 0.001 })
      await fixture.gone()
    },
  },
]

const sleepy: WorldSpecInput = { idleStopMinutes: 600, wakeOnAccess: 'Access' }

const asleep = async (fixture: WorldFixture): Promise<void> => {
  await active(fixture, sleepy)
  await fixture.fallsAsleep()
  await fixture.noPod()
}

const sleeps: OperatorWorkload[] = [
  { name: 'falls asleep', everyWrite: true, run: asleep },
  {
    name: 'falls asleep, then wakes',
    everyWrite: true,
    run: async (fixture) => {
      await asleep(fixture)
      await fixture.start(2)
      await fixture.phase('Active')
    },
  },
  {
    name: 'falls asleep, then is stopped',
    run: async (fixture) => {
      await asleep(fixture)
      await stopped(fixture)
    },
  },
  {
    name: 'falls asleep, then is deleted',
    run: async (fixture) => {
      await asleep(fixture)
      await fixture.delete()
      await fixture.gone()
    },
  },
  {
    name: 'players come and go, then it falls asleep',
    run: async (fixture) => {
      await active(fixture, sleepy)
      fixture.report({ active: 1, queued: 0 })
      await fixture.keptAwakeBy('Players')
      fixture.report({ active: 0, queued: 0 })
      await fixture.keptAwakeBy(undefined)
      await fixture.fallsAsleep()
      await fixture.noPod()
    },
  },
  {
    name: 'sleep is set and removed while Active',
    run: async (fixture) => {
      await active(fixture)
      await fixture.edit(sleepy)
      await fixture.keptAwakeBy(undefined)
      await fixture.edit({ idleStopMinutes: undefined, wakeOnAccess: undefined })
      await fixture.phase('Active')
    },
  },
]

const faults: OperatorWorkload[] = [
  {
    name: 'server ends the run',
    run: async (fixture) => {
      await active(fixture)
      await fixture.serverExits(0)
      await fixture.phase('Stopped')
      await fixture.noPod()
    },
  },
  {
    name: 'server fails once',
    everyWrite: true,
    run: async (fixture) => {
      await fixture.start(1, withBehaviour('fails-first'))
      await fixture.phase('Active')
    },
  },
  {
    name: 'server fails too often, then a start',
    run: async (fixture) => {
      await fixture.start(1, withBehaviour('fails'))
      await fixture.phase('Error')
      await fixture.noPod()
      await fixture.start(2, withBehaviour('ready'))
      await fixture.phase('Active')
    },
  },
  {
    name: 'server is evicted',
    run: async (fixture) => {
      await active(fixture)
      const before = (await fixture.livePod()).metadata.uid
      await fixture.evict()
      await fixture.until('another pod', async () => (await fixture.livePod()).metadata.uid !== before)
      await fixture.until('Ready', async () => isReady(await fixture.world()))
    },
  },
  {
    name: 'server is deleted by kubectl',
    run: async (fixture) => {
      await active(fixture)
      const before = (await fixture.livePod()).metadata.uid
      await fixture.deletePod()
      await fixture.until('another pod', async () => (await fixture.livePod()).metadata.uid !== before)
      await fixture.until('Ready', async () => isReady(await fixture.world()))
    },
  },
  {
    name: "a stranger's pod is in the way, then goes",
    run: async (fixture) => {
      await fixture.strangersPod()
      await fixture.start()
      await fixture.until('Degraded', async () =>
        (await fixture.world())?.status?.conditions?.some(
          ({ type, status }) => type === 'Degraded' && status === 'True',
        ),
      )
      await fixture.deletePod()
      await fixture.phase('Active')
    },
  },
]

/** Starts a world with two bots, and waits until it is Active and they are Ready. */
const withBots = async (fixture: WorldFixture, also: Partial<BotDeploymentSpec> = {}): Promise<void> => {
  await active(fixture)
  await fixture.bots.edit(also)
  await fixture.bots.are('Running', also.count ?? 2)
}

const bots: OperatorWorkload[] = [
  { name: 'bots of an Active world', everyWrite: true, run: withBots },
  {
    name: 'bots that wait for their world',
    run: async (fixture) => {
      await fixture.edit()
      await fixture.phase('Inactive')
      await fixture.bots.edit()
      await fixture.bots.are('Pending', 0)
      await active(fixture)
      await fixture.bots.are('Running', 2)
    },
  },
  {
    name: 'bots are scaled up',
    run: async (fixture) => {
      await withBots(fixture, { count: 1 })
      await fixture.bots.edit({ count: 3 })
      await fixture.bots.are('Running', 3)
    },
  },
  {
    name: 'bots are scaled down',
    run: async (fixture) => {
      await withBots(fixture, { count: 3 })
      await fixture.bots.edit({ count: 1 })
      await fixture.bots.are('Running', 1)
    },
  },
  {
    name: 'bots are scaled to 0, and back',
    run: async (fixture) => {
      await withBots(fixture)
      await fixture.bots.edit({ count: 0 })
      await fixture.bots.are('Running', 0)
      await fixture.bots.edit({ count: 1 })
      await fixture.bots.are('Running', 1)
    },
  },
  {
    name: 'bots of a world that stops',
    run: async (fixture) => {
      await withBots(fixture)
      await stopped(fixture)
      await fixture.bots.are('Stopped', 0)
    },
  },
  {
    name: 'bots of a world that is started again',
    run: async (fixture) => {
      await withBots(fixture)
      await fixture.start(2)
      await fixture.phase('Active')
      await fixture.bots.ofRun(runId(2))
      await fixture.bots.are('Running', 2)
    },
  },
  {
    name: 'bots that fail once',
    everyWrite: true,
    run: (fixture) => withBots(fixture, { args: ['fails-first'] }),
  },
  {
    name: 'bots that fail too often',
    run: async (fixture) => {
      await active(fixture)
      await fixture.bots.edit({ count: 1, args: ['fails'] })
      await fixture.bots.are('Error', 0)
    },
  },
  {
    name: 'bots that end',
    run: async (fixture) => {
      await active(fixture)
      await fixture.bots.edit({ args: ['ends'] })
      await fixture.bots.are('Stopped', 0)
    },
  },
  {
    name: 'expiry of bots',
    run: async (fixture) => {
      await withBots(fixture)
      await fixture.bots.edit({ durationMinutes: 0.001 })
      await fixture.bots.are('Stopped', 0)
    },
  },
  {
    name: 'bots are deleted',
    everyWrite: true,
    run: async (fixture) => {
      await withBots(fixture)
      await fixture.bots.delete()
      await fixture.bots.gone()
    },
  },
  {
    name: 'bots are deleted while Starting',
    run: async (fixture) => {
      await active(fixture)
      await fixture.bots.edit({ args: ['never'] })
      await fixture.bots.are('Starting', 2)
      await fixture.bots.delete()
      await fixture.bots.gone()
    },
  },
  {
    name: 'bots and their world are deleted',
    run: async (fixture) => {
      await withBots(fixture)
      await fixture.bots.delete()
      await fixture.delete()
      await fixture.bots.gone()
      await fixture.gone()
    },
  },
]

const isReady = (world: Awaited<ReturnType<WorldFixture['world']>>): boolean | undefined =>
  world?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True')

/** The workloads of the operator. */
export const operatorWorkloads: readonly OperatorWorkload[] = [
  ...lives,
  ...ends,
  ...sleeps,
  ...faults,
  ...bots,
  ...editWorkloads,
]
