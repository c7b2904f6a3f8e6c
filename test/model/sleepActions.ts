import { type Counts, nobody } from '#test/support/playerServers.ts'
import { type Action, ask, onWorld, pick } from './model.ts'

const settings = [
  { idleStopMinutes: 1, wakeOnAccess: 'Access' },
  { idleStopMinutes: 1, wakeOnAccess: 'Access' },
  { idleStopMinutes: 1 },
  {},
]

const reports = (counts: Counts): Action['act'] =>
  onWorld(async ({ system: { servers, namespace } }, _, { resourceName }) =>
    servers.report(`${namespace}/${resourceName}`, counts),
  )

/** Settings of sleep, players who come and go, minutes that pass, and users who wake worlds. */
export const sleepActions: readonly Action[] = [
  {
    name: 'start a new world that may sleep',
    weight: 5,
    act: async ({ system, model }) => {
      const body = { name: 'Sleepy', transient: false, runtime: settings[0] }
      const id = (await ask(system.rest, 'POST', '/api/worlds/', body))?.body.worldId
      if (id === undefined) return
      model.worlds.set(id, { expected: 'exists', resourceName: id })
      await ask(system.rest, 'POST', `/api/worlds/${id}/start/`)
    },
  },
  {
    name: 'set the sleep with REST',
    weight: 5,
    act: onWorld(({ system, random }, id) =>
      ask(system.rest, 'PATCH', `/api/worlds/${id}/`, { runtime: pick(settings, random) ?? {} }),
    ),
  },
  { name: 'players come', weight: 2, act: reports({ active: 2, queued: 0 }) },
  { name: 'players wait', weight: 1, act: reports({ active: 0, queued: 1 }) },
  { name: 'players leave', weight: 3, act: reports(nobody) },
  { name: 'the server is silent', weight: 1, act: reports('silent') },
  {
    name: 'minutes pass',
    weight: 8,
    act: onWorld(({ system: { simulator, namespace } }, _, { resourceName: name }) =>
      // No answer says whether they passed, since the API server may be away.
      simulator.passMinutes({ namespace, name }, 2).catch(() => undefined),
    ),
  },
  {
    name: 'check the access',
    weight: 5,
    act: onWorld(({ system, random }, id) =>
      ask(system.user, 'GET', `/api/worlds/${id}/users/user-${Math.floor(random() * 100)}/access/`),
    ),
  },
  {
    name: 'wake with REST',
    weight: 2,
    act: onWorld(({ system }, id) => ask(system.rest, 'POST', `/api/worlds/${id}/wake/`)),
  },
]
