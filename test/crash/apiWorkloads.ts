import type { ScheduledAction } from '#shared/domain/schedule.ts'
import { lastMinute } from '#test/support/schedules.ts'
import type { ApiFixture } from './apiFixture.ts'
import type { Workload } from './runner.ts'

const active = async (fixture: ApiFixture): Promise<void> => {
  await fixture.create()
  await fixture.start()
}

const withBots = async (fixture: ApiFixture, count = 2): Promise<void> => {
  await active(fixture)
  await fixture.createBots(count)
  await fixture.botsAre('Running', count)
}

const inTurn =
  (...acts: readonly ((fixture: ApiFixture) => Promise<unknown>)[]) =>
  async (fixture: ApiFixture): Promise<void> => {
    for (const act of acts) await act(fixture)
  }

const sleepy = async (fixture: ApiFixture): Promise<void> => {
  await fixture.create({ runtime: { idleStopMinutes: 600, wakeOnAccess: 'Access' } })
  await fixture.start()
}

const asleep = inTurn(sleepy, (fixture) => fixture.fallsAsleep())

const withSchedule = (...actions: readonly ScheduledAction[]) => ({
  runtime: { idleStopMinutes: 600, wakeOnAccess: 'Access', schedule: lastMinute(...actions) },
})

/** Creates and starts a world whose schedule can be made due. */
const scheduled =
  (...actions: readonly ScheduledAction[]) =>
  async (fixture: ApiFixture): Promise<void> => {
    await fixture.create(withSchedule(...actions))
    await fixture.start()
  }

/**
 * The workloads of schedules. What they do is done once. Those that are made due are races: the row then has another next action than
 * the resource, which an API that was just started may push before it acts.
 */
const scheduleWorkloads: readonly Workload<ApiFixture>[] = [
  {
    name: 'a schedule starts a world',
    isRace: true,
    prepare: (fixture) => fixture.create(withSchedule('start')),
    run: (fixture) => fixture.startsBySchedule(),
  },
  {
    name: 'a schedule starts a world that sleeps',
    isRace: true,
    prepare: inTurn(scheduled('start'), (fixture) => fixture.fallsAsleep()),
    run: (fixture) => fixture.startsBySchedule(),
  },
  {
    name: 'a schedule stops a world',
    isRace: true,
    prepare: scheduled('stop'),
    run: (fixture) => fixture.stopsBySchedule(),
  },
  {
    // A stop and a start of the same minute. A restart needs a run that is older than its minute.
    name: 'a schedule begins another run of a world',
    isRace: true,
    prepare: scheduled('stop', 'start'),
    run: (fixture) => fixture.startsBySchedule(),
  },
  {
    name: 'a schedule is refused a start',
    isRace: true,
    prepare: (fixture) => fixture.create({ ...withSchedule('start'), networking: { strategy: 'HostPort' } }),
    run: (fixture) => fixture.isRefusedBySchedule(),
  },
  {
    name: 'kubectl: a schedule',
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.editByHand({ schedule: { start: '0 18 * * FRI', timeZone: 'Europe/Berlin' } }),
      (fixture) => fixture.hasNextAction(),
    ),
  },
]

/** The workloads of the API: changes over REST and with kubectl. */
export const apiWorkloads: readonly Workload<ApiFixture>[] = [
  { name: 'REST: create', everyWrite: true, run: (fixture) => fixture.create() },
  { name: 'REST: start', run: active },
  {
    name: 'REST: edit while Inactive',
    run: inTurn(
      (fixture) => fixture.create(),
      (fixture) => fixture.rename('Foyer'),
    ),
  },
  { name: 'REST: edit while Active', run: inTurn(active, (fixture) => fixture.rename('Foyer')) },
  { name: 'REST: stop', run: inTurn(active, (fixture) => fixture.stop()) },
  {
    name: 'REST: stop, then start',
    run: inTurn(
      active,
      (fixture) => fixture.stop(),
      (fixture) => fixture.start(),
    ),
  },
  { name: 'REST: restart', run: inTurn(active, (fixture) => fixture.start()) },
  { name: 'a world falls asleep', prepare: sleepy, run: (fixture) => fixture.fallsAsleep() },
  { name: 'REST: wake', prepare: asleep, run: (fixture) => fixture.wake() },
  { name: 'a user enters a world that sleeps', prepare: asleep, run: (fixture) => fixture.enter() },
  { name: 'REST: stop a world that sleeps', prepare: asleep, run: (fixture) => fixture.stop() },
  { name: 'REST: delete', run: inTurn(active, (fixture) => fixture.delete()) },
  ...scheduleWorkloads,
  {
    name: 'REST: delete while Inactive',
    run: inTurn(
      (fixture) => fixture.create(),
      (fixture) => fixture.delete(),
    ),
  },
  { name: 'REST: delete the project', run: inTurn(active, (fixture) => fixture.deleteProject()) },
  { name: 'REST: bots', run: withBots },
  {
    name: 'REST: bots are scaled',
    run: inTurn(
      withBots,
      (fixture) => fixture.scaleBots(3),
      (fixture) => fixture.botsAre('Running', 3),
      (fixture) => fixture.scaleBots(1),
      (fixture) => fixture.botsAre('Running', 1),
    ),
  },
  { name: 'REST: bots are deleted', run: inTurn(withBots, (fixture) => fixture.deleteBots()) },
  { name: 'REST: delete a world with bots', run: inTurn(withBots, (fixture) => fixture.delete()) },
  {
    name: 'kubectl: stop, then start',
    run: inTurn(
      active,
      (fixture) => fixture.editByHand({ state: 'Stopped' }),
      (fixture) => fixture.phase('Stopped'),
      (fixture) => fixture.settled(),
      (fixture) => fixture.editByHand({ state: 'Running' }),
      (fixture) => fixture.phase('Active'),
    ),
  },
  { name: 'kubectl: delete', run: inTurn(active, (fixture) => fixture.deleteByHand()) },
  // The first world makes the namespace.
  {
    name: 'kubectl: create a stopped World',
    isRace: true,
    prepare: (fixture) => fixture.create(),
    run: (fixture) => fixture.createByHand({ displayName: 'By hand' }),
  },
  {
    name: 'kubectl: create a BotDeployment',
    isRace: true,
    prepare: active,
    run: inTurn(
      (fixture) => fixture.createBotsByHand(2),
      (fixture) => fixture.botsAre('Running', 2),
    ),
  },
  {
    name: 'kubectl: create a running World',
    isRace: true,
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.createByHand({ displayName: 'By hand', state: 'Running' }),
      (fixture) => fixture.phase('Active'),
    ),
  },
  {
    name: 'kubectl: edit',
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.editByHand({ displayName: 'Foyer' }),
      (fixture) => fixture.isNamed('Foyer'),
    ),
  },
  {
    name: 'kubectl: edit that is put back',
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.editByHand({ runId: 'run-00000000000000000000000009', startedAt: '2026-01-01T00:00:00Z' }),
      (fixture) => fixture.isPutBack(),
    ),
  },
  {
    name: 'kubectl: delete the namespace of a world',
    prepare: (fixture) => fixture.create(),
    run: (fixture) => fixture.deleteNamespace(),
  },
  {
    name: 'kubectl: delete the namespace of a running world with bots',
    prepare: withBots,
    run: inTurn(
      (fixture) => fixture.deleteNamespace(),
      (fixture) => fixture.phase('Active'),
      (fixture) => fixture.botsAre('Running', 2),
    ),
  },
  {
    name: 'REST: restore a world',
    prepare: inTurn(active, (fixture) => fixture.delete()),
    run: (fixture) => fixture.restore(),
  },
  {
    name: 'REST: restore a world with bots',
    prepare: inTurn(withBots, (fixture) => fixture.delete()),
    run: (fixture) => fixture.restore(),
  },
  {
    name: 'kubectl: a World vanishes',
    run: inTurn(
      (fixture) => fixture.create(),
      (fixture) => fixture.vanish(),
    ),
  },
]

/** The region of the second cluster. Worlds begin in the first one. */
const america = 'NorthAmerica'

/** The workloads of an API with two clusters: worlds that move from one to the other. */
export const moveWorkloads: readonly Workload<ApiFixture>[] = [
  {
    name: 'move: without a run',
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.put(america),
      (fixture) => fixture.isIn(1),
    ),
  },
  {
    name: 'move: with the next start, and with bots',
    prepare: inTurn(
      (fixture) => withBots(fixture, 1),
      (fixture) => fixture.put(america),
    ),
    run: inTurn(
      (fixture) => fixture.start(),
      (fixture) => fixture.isIn(1),
      (fixture) => fixture.botsAre('Running', 1),
    ),
  },
  {
    name: 'move: by an edit with kubectl',
    prepare: (fixture) => fixture.create(),
    run: inTurn(
      (fixture) => fixture.editByHand({ compute: { group: 'production', region: america } }),
      (fixture) => fixture.isIn(1),
    ),
  },
]
