import { lastMinute } from '#test/support/schedules.ts'
import { type Action, ask, makeDue, onWorld, pick } from './model.ts'

const settings = [
  () => ({ schedule: lastMinute('start') }),
  () => ({ schedule: lastMinute('stop') }),
  () => ({ schedule: lastMinute('stop', 'start') }),
  () => ({ schedule: { ...lastMinute('restart', 'start'), timeZone: 'Etc/UTC' }, idleStopMinutes: 1 }),
  () => ({ schedule: lastMinute('start'), idleStopMinutes: 1, wakeOnAccess: 'Access' }),
  () => ({}),
]

/** Settings of schedules, and their times. */
export const scheduleActions: readonly Action[] = [
  {
    name: 'create a world with a schedule',
    weight: 3,
    act: async ({ system, model, random }) => {
      const body = { name: 'Scheduled', transient: false, runtime: pick(settings, random)?.() ?? {} }
      const id = (await ask(system.rest, 'POST', '/api/worlds/', body))?.body.worldId
      if (id !== undefined) model.worlds.set(id, { expected: 'exists', resourceName: id })
    },
  },
  {
    name: 'set the schedule with REST',
    weight: 6,
    act: onWorld(({ system, random }, id) =>
      ask(system.rest, 'PATCH', `/api/worlds/${id}/`, { runtime: pick(settings, random)?.() ?? {} }),
    ),
  },
  {
    name: 'a schedule is due',
    weight: 10,
    act: onWorld((step, id) => makeDue(step, id)),
  },
]
