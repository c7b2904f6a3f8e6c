import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { idOf } from '#dev/cluster/id.ts'
import { packTestProgram } from '#dev/images/image.ts'
import { importImage } from '#dev/node/containerd.ts'
import { placesOf } from '#dev/node/leftovers.ts'
import type { ServerQuery } from '#shared/domain/query.ts'
import type { Game } from '#test/support/gameServers/game.ts'
import type { RunningStack } from '#test/support/npmStart.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'
import { aWorldByHand, gameSpec, setGame } from './gameWorlds.ts'
import { testSleep } from './sleep.ts'

const capacity = 20
const mapName = 'harbour'
const version = '1.2.3'
/** The status of a world is written at most every 15 s, and a silent server is asked less and less often. */
const slow = { timeoutMs: 90_000 }

type Answer = WorldBody & { queueState: object; status: { conditions: object[] } }

type Example = {
  readonly protocol: ServerQuery['protocol']
  readonly transport: 'TCP' | 'UDP'
  readonly reported: object
}
/** The server list ping counts no bots and names no map. */
const examples: Example[] = [
  { protocol: 'A2S', transport: 'UDP', reported: { capacity, version, map: mapName } },
  { protocol: 'MinecraftJava', transport: 'TCP', reported: { capacity, version } },
]

/** Defines the tests of servers that the operator asks by their own protocol, on the real node of a stack. */
export const testQueries = (stackOf: () => RunningStack, stateDir: string) =>
  describe.concurrent('a game server', () => {
    let image: string
    beforeAll(async () => {
      const game = { name: 'orrery.dev/game-server', program: 'test/support/gameServers' }
      const packed = await packTestProgram(join(stateDir, 'images'), game)
      await importImage(placesOf(idOf(stateDir)).runDir, packed)
      image = packed.reference
    })

    const aGame = async (example: Example) => {
      const { protocol, transport } = example
      const spec = gameSpec({ protocol, transport, image, args: [protocol], capacity, mapName })
      const world = await aWorldByHand(stackOf(), stateDir, { name: protocol.toLowerCase(), spec })
      const { read, pod, client, id } = world
      return {
        ...world,
        condition: (type: string) => read().status?.conditions?.find((each) => each.type === type),
        inRest: async () => (await client.call<Answer>('GET', `/api/worlds/${id}/`)).body,
        server: () => ({ uid: pod('{.metadata.uid}'), run: pod('{.metadata.labels.orrery\\.dev/run}') }),
        isPodReady: async () => pod('{.status.conditions[?(@.type=="Ready")].status}') === 'True',
        sets: (fields: Partial<Game>): Promise<Game> => setGame(world, fields),
        shows: (queue: object | undefined) =>
          eventually(
            `${protocol} shows ${JSON.stringify(queue)}`,
            async () => {
              expect(read().status?.queue).toEqual(queue)
              return true
            },
            slow,
          ),
      }
    }

    testSleep(stackOf, stateDir, () => image)

    test.each(examples)(
      'that speaks $protocol over $transport is Active once it answers, shows its players, and stays Active when it falls silent',
      async (example) => {
        const world = await aGame(example)
        await eventually('a running server', world.isPodReady, slow)
        const { asked } = await world.sets({})
        await eventually('three more questions', async () => (await world.sets({})).asked >= asked + 3, slow)
        expect(world.read().status?.phase).toBe('Starting')
        expect(world.condition('Ready')?.status).toBe('False')
        expect((await world.inRest()).status.phase).toBe('Starting')

        await world.sets({ isAnswering: true })
        await eventually('Active', async () => world.read().status?.phase === 'Active', slow)
        const started = world.server()
        await world.shows({ queued: 0, active: 0, ...example.reported })
        expect(world.condition('Responding')).toMatchObject({ status: 'True', reason: 'Answered' })
        const isActive = async () => (await world.inRest()).status.phase === 'Active'
        await eventually('Active in REST', isActive)
        const restShows = (queue: object) =>
          eventually(`REST shows ${JSON.stringify(queue)}`, async () => {
            expect((await world.inRest()).queueState).toEqual(queue)
            return true
          })
        await restShows({ queued: 0, active: 0, ...example.reported })

        const bots = example.protocol === 'A2S' ? 2 : 0
        for (const active of [3, 2, 0]) {
          await world.sets({ players: active + bots, bots })
          await world.shows({ queued: 0, active, ...example.reported })
          await restShows({ queued: 0, active, ...example.reported })
        }

        await world.sets({ isAnswering: false })
        await world.shows(undefined)
        const silent = world.condition('Responding')
        expect(silent).toMatchObject({ status: 'False', reason: 'NoAnswer' })
        for (const word of [example.protocol, example.transport, '27015']) expect(silent?.message).toContain(word)
        const { status } = world.read()
        expect(status).toMatchObject({ phase: 'Active', run: { id: started.run, restarts: 0 } })
        expect(world.condition('Ready')?.status).toBe('True')
        expect(world.condition('Degraded')?.status).toBe('False')
        expect(world.server()).toEqual(started)
        // Zero in REST means no one or unknown; the condition tells them apart.
        await restShows({ queued: 0, active: 0 })
        const { conditions, phase } = (await world.inRest()).status
        expect(phase).toBe('Active')
        expect(conditions).toContainEqual(expect.objectContaining({ type: 'Responding', status: 'False' }))

        await world.sets({ isAnswering: true, players: 1 + bots })
        await world.shows({ queued: 0, active: 1, ...example.reported })
        expect(world.condition('Responding')?.status).toBe('True')
        world.patch({ state: 'Stopped' })
      },
    )
  })
