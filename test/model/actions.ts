import { setTimeout as delay } from 'node:timers/promises'
import { containerActions } from './containerActions.ts'
import { kubectlActions } from './kubectlActions.ts'
import { type Action, type Expectation, pick, type Step } from './model.ts'
import { restActions } from './restActions.ts'
import { scheduleActions } from './scheduleActions.ts'
import { sleepActions } from './sleepActions.ts'

const faults: readonly Action[] = [
  { name: 'kill the api', weight: 1, isFault: true, act: ({ system }) => system.kill('api') },
  { name: 'kill the operator', weight: 1, isFault: true, act: ({ system }) => system.kill('operator') },
  { name: 'suspend the api', weight: 1, isFault: true, act: ({ system }) => system.suspend('api', 2_000) },
  { name: 'suspend the operator', weight: 1, isFault: true, act: ({ system }) => system.suspend('operator', 2_000) },
  { name: 'cut the database', weight: 1, isFault: true, act: ({ system }) => system.cut('database', 1_000) },
  { name: 'cut the cluster', weight: 1, isFault: true, act: ({ system }) => system.cut('cluster', 1_000) },
]

/** Longer than a leader of pull or of the operators may be silent before another replica takes over. */
const takeoverMs = { api: 12_000, operator: 6_000 }

/** Changes of the leader, in systems with several replicas. */
const leaderChanges = (['api', 'operator'] as const).flatMap((which): Action[] => [
  { name: `replace the ${which}`, weight: 1, isFault: true, act: ({ system }) => system.replace(which) },
  {
    name: `suspend the ${which} until another leads`,
    weight: 1,
    isFault: true,
    act: ({ system }) => system.suspend(which, takeoverMs[which]),
  },
])

const existing = (of: ReadonlyMap<string, { expected: Expectation }>): Set<string> =>
  new Set([...of].flatMap(([id, { expected }]) => (expected === 'exists' ? [id] : [])))

const timeToRestoreMs = 1_500

/**
 * Restores the database from a backup. Resources that existed at the backup and were not deleted since exist afterwards. Others
 * may end either way.
 */
const restoreDatabase: Action = {
  name: 'restore the database',
  weight: 1,
  isFault: true,
  act: async ({ system, model }) => {
    const { worlds, bots } = model
    const before = new Set([...existing(worlds), ...existing(bots)])
    const restore = await system.backUp()
    await delay(timeToRestoreMs)
    model.isUndecided = true
    model.wasRestored = true
    await restore()
    for (const [id, each] of [...worlds, ...bots]) {
      if (each.expected === 'gone' || !before.has(id)) each.expected = 'either'
    }
    model.isUndecided = false
  },
}

/**
 * Restores the cluster from a backup. The rows are newer and win: what exists stays. What was deleted comes back without a row or
 * with a deleted one, and an administrator decides about it.
 */
const restoreCluster: Action = {
  name: 'restore the cluster',
  weight: 1,
  isFault: true,
  act: async ({ system, model }) => {
    const { worlds, bots } = model
    const before = new Set([...existing(worlds), ...existing(bots)])
    const restore = await system.backUpCluster()
    await delay(timeToRestoreMs)
    model.isUndecided = true
    model.wasRestored = true
    await restore()
    for (const [id, each] of [...worlds, ...bots]) {
      // What kubectl created since the backup may have been lost before it got a row.
      const isNew = each.resourceName !== id && !before.has(id)
      if (each.expected === 'gone' || isNew) each.expected = 'either'
    }
    model.isUndecided = false
  },
}

/** Returns each action as often as its weight says. Faults are rarer than the rest. */
const weighted = (...actions: readonly Action[]): Action[] =>
  actions.flatMap((action) => Array.from({ length: action.weight }, () => action))

const ofOneReplica = weighted(
  ...restActions,
  ...kubectlActions,
  ...sleepActions,
  ...scheduleActions,
  ...containerActions,
  ...faults,
  restoreDatabase,
  restoreCluster,
)
const ofSeveralReplicas = [...ofOneReplica, ...weighted(...leaderChanges)]
const longestPauseMs = 150

/** Runs a random sequence of actions and returns their names, in order. */
export const runSequence = async (step: Step, length: number): Promise<string[]> => {
  const done: string[] = []
  let last: Promise<void> = Promise.resolve()
  for (let at = 0; at < length; at += 1) {
    const action = pick(step.system.replicas > 1 ? ofSeveralReplicas : ofOneReplica, step.random)
    if (action === undefined) break
    done.push(action.name)
    if (action.isFault) last = last.then(() => action.act(step))
    else await action.act(step)
    await delay(step.random() * longestPauseMs)
  }
  await last
  return done
}
