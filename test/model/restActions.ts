import { type Action, afterDeletion, ask, onBots, onWorld, pick } from './model.ts'

/** Changes over REST. */
export const restActions: readonly Action[] = [
  {
    name: 'create with REST',
    weight: 8,
    act: async ({ system, model }) => {
      const answer = await ask(system.rest, 'POST', '/api/worlds/', { name: 'Lobby', transient: false })
      const id = answer?.body.worldId
      if (id !== undefined) model.worlds.set(id, { expected: 'exists', resourceName: id })
    },
  },
  {
    name: 'patch with REST',
    weight: 6,
    act: onWorld(({ system, random }, id) =>
      ask(system.rest, 'PATCH', `/api/worlds/${id}/`, { name: `Named ${random()}` }),
    ),
  },
  {
    name: 'start with REST',
    weight: 6,
    act: onWorld(({ system }, id) => ask(system.rest, 'POST', `/api/worlds/${id}/start/`)),
  },
  {
    name: 'stop with REST',
    weight: 4,
    act: onWorld(({ system }, id) => ask(system.rest, 'POST', `/api/worlds/${id}/stop/`)),
  },
  {
    name: 'delete with REST',
    weight: 2,
    act: onWorld(async ({ system }, id, world) => {
      world.expected = afterDeletion(world.expected, await ask(system.rest, 'DELETE', `/api/worlds/${id}/`))
    }),
  },
  {
    name: 'restore with REST',
    weight: 3,
    act: async ({ system, model, random }) => {
      const gone = [...model.worlds].filter(([, { expected }]) => expected === 'gone')
      const [id, world] = pick(gone, random) ?? []
      if (world === undefined) return
      const answer = await ask(system.rest, 'POST', `/api/worlds/${id}/restore/`)
      world.expected = answer === undefined ? 'either' : answer.status < 300 ? 'exists' : world.expected
    },
  },
  {
    name: 'add bots',
    weight: 4,
    act: onWorld(async ({ system, model }, worldId) => {
      const path = `/api/worlds/${worldId}/bots/`
      await ask(system.rest, 'POST', path, { count: 2 })
      const listed = await ask<{ documentId: string }[]>(system.rest, 'GET', path)
      if (listed?.status !== 200) return
      for (const { documentId: id } of listed.body) {
        if (!model.bots.has(id)) model.bots.set(id, { expected: 'exists', resourceName: id, worldId })
      }
    }),
  },
  {
    name: 'scale bots with REST',
    weight: 2,
    act: onBots(({ system, random }, path) => ask(system.rest, 'PATCH', path, { count: Math.floor(random() * 4) })),
  },
  {
    name: 'delete bots with REST',
    weight: 1,
    act: onBots(async ({ system }, path, bots) => {
      bots.expected = afterDeletion(bots.expected, await ask(system.rest, 'DELETE', path))
    }),
  },
]
