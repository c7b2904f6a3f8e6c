import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { askServer } from '#operator/world/execute/askServer.ts'
import type { ServerQuery } from '#shared/domain/query.ts'
import type { WorldSpecInput, WorldStatus } from '#shared/resources/world.ts'
import type { RunningStack } from '#test/support/npmStart.ts'
import { createRest, type WorldBody } from '#test/support/rest.ts'
import { eventually, patience } from '#test/support/wait.ts'
import { aWorldByHand, gameSpec, setGame, type WorldByHand } from './gameWorlds.ts'

const userId = 'ann'
/** A world sleeps after one minute. */
const asleepMs = { timeoutMs: 120_000 }

type Address = { host: string; port: number }
type Answer = WorldBody & {
  runtime: { idleStopMinutes?: number; wakeOnAccess?: string }
  status: { idle?: WorldStatus['idle']; address?: Address }
}
/** A player of a world. */
type Player = { enter(at: Address): Promise<void>; leave(): Promise<void> }

/** A player who holds a connection to the default server. */
const connected = (): Player => {
  let leave = async (): Promise<void> => undefined
  return {
    enter: async ({ host, port }) => {
      const socket = connect({ host, port, timeout: 10_000 * patience })
      leave = async () => void socket.destroy()
      await new Promise((resolve, reject) => {
        socket.once('data', resolve)
        socket.on('timeout', () => socket.destroy(new Error('no welcome')))
        socket.on('error', reject)
      })
      socket.setTimeout(0)
    },
    leave: () => leave(),
  }
}

/** A player whom the server counts. The player asks it first, at the address that players get. */
const counted = (world: WorldByHand, protocol: ServerQuery['protocol']): Player => ({
  enter: async (at) => {
    const answer = await askServer({ protocol, ...at }, AbortSignal.timeout(5_000 * patience))
    expect(answer).toMatchObject({ kind: 'report' })
    await setGame(world, { players: 1 })
  },
  leave: async () => void (await setGame(world, { players: 0 })),
})

const aSleeper = async (
  stack: RunningStack,
  stateDir: string,
  { name, spec, player }: { name: string; spec: WorldSpecInput; player: (world: WorldByHand) => Player },
) => {
  const world = await aWorldByHand(stack, stateDir, { name, spec })
  const { client, id, read, kubectl, appliedAtMs } = world
  const path = `/api/worlds/${id}/`
  const permissions = [`organizations/${client.scope.organizationId}/projects/${client.scope.projectId}/**:r`]
  const made = await client.call<{ accessToken: string }>('POST', `/api/users/${userId}/tokens/`, { permissions })
  const user = createRest(stack.info.apiUrl, client.scope, { token: made.body.accessToken })
  const inRest = async () => (await client.call<Answer>('GET', path)).body
  const isActive = (): Promise<boolean> =>
    eventually(`${name} is Active`, async () => read().status?.phase === 'Active')
  await isActive()
  const coldMs = performance.now() - appliedAtMs
  const { enter, leave } = player(world)
  const keptAwakeBy = (reason: string) =>
    eventually(`${name} is kept awake by ${reason}`, async () => read().status?.idle?.keptAwakeBy === reason)
  return {
    ...world,
    coldMs,
    inRest,
    leave,
    runId: () => read().status?.runId,
    enters: async () => {
      const at = await eventually(`the address of ${name} in REST`, async () => {
        const { status } = await inRest()
        return status.phase === 'Active' && status.address
      })
      await enter(at)
      await keptAwakeBy('Players')
    },
    /** Lets the world sleep, as an edit with kubectl, until REST has the edit. */
    maySleep: async () => {
      world.patch({ idleStopMinutes: 1, wakeOnAccess: 'Access' })
      await eventually(
        `REST adopts the edit of ${name}`,
        async () => (await inRest()).runtime.wakeOnAccess === 'Access',
      )
      expect((await inRest()).runtime).toMatchObject({ idleStopMinutes: 1, wakeOnAccess: 'Access' })
    },
    /** Returns the column Empty. */
    emptyColumn: (): string => {
      const [head = '', row = ''] = kubectl('get', 'world', name, '-o', 'wide').split('\n')
      return row.slice(head.indexOf('EMPTY')).trim()
    },
    isAsleep: async () => {
      const { spec, status } = await eventually(
        `${name} sleeps`,
        async () => {
          const now = read()
          return now.status?.phase === 'Stopped' && now
        },
        asleepMs,
      )
      expect(spec.state).toBe('Running')
      const { run, idle } = status ?? {}
      expect(run).toMatchObject({ endReason: 'Idle', endMessage: 'Nobody was in the world for 1 minute.' })
      expect(idle).toEqual({ since: expect.any(String), asleepSince: run?.endedAt })
      const emptyMs = Date.parse(run?.endedAt ?? '') - Date.parse(idle?.since ?? '')
      expect(emptyMs).toBeGreaterThanOrEqual(60_000)
      await eventually(`no pod of ${name}`, async () => kubectl('get', 'pods', '-o', 'name') === '')
      const asleep = await eventually(`${name} sleeps in REST`, async () => {
        const now = await inRest()
        return now.status.idle?.asleepSince !== undefined && now
      })
      expect(asleep.status).toMatchObject({ phase: 'Stopped', idle })
    },
    /** Wakes the world by a request, and returns the time until it is Active. */
    wakes: async (wake: (of: typeof user, path: string) => Promise<void>): Promise<number> => {
      const from = performance.now()
      await wake(user, path)
      await isActive()
      return performance.now() - from
    },
    deployments: async () =>
      (await client.call<{ endReason?: string; wokenBy?: string }[]>('GET', `${path}deployments/`)).body,
  }
}

const checkAccess = async ({ call }: ReturnType<typeof createRest>, path: string): Promise<void> =>
  expect(await call('GET', `${path}users/${userId}/access/`)).toMatchObject({
    status: 200,
    body: { userId, hasAccess: true },
  })

const wake = async ({ call }: ReturnType<typeof createRest>, path: string): Promise<void> =>
  expect(await call('POST', `${path}wake/`)).toMatchObject({ status: 200, body: { phase: 'Starting' } })

/** Defines the test of worlds that sleep and wake, on the real node of a stack. */
export const testSleep = (stackOf: () => RunningStack, stateDir: string, imageOf: () => string) =>
  test('sleeps a minute after its last player has left, stays awake while one is in, and is woken by a user who may enter', async () => {
    const game = (protocol: 'A2S' | 'MinecraftJava', transport: 'UDP' | 'TCP') => ({
      name: `sleepy-${protocol.toLowerCase()}`,
      spec: gameSpec({
        protocol,
        transport,
        image: imageOf(),
        args: [protocol, 'answering'],
        capacity: 20,
        mapName: 'attic',
      }),
      player: (world: WorldByHand) => counted(world, protocol),
    })
    const http = { name: 'sleepy-http', spec: { state: 'Running' as const }, player: connected }
    const worlds = [game('A2S', 'UDP'), game('MinecraftJava', 'TCP'), http] as const
    const [quiet, ...busy] = await Promise.all([
      aSleeper(stackOf(), stateDir, worlds[0]),
      aSleeper(stackOf(), stateDir, worlds[1]),
      aSleeper(stackOf(), stateDir, worlds[2]),
    ])
    for (const world of busy) {
      await world.maySleep()
      await world.enters()
      expect(world.emptyColumn()).toBe('')
    }
    const busyRuns = busy.map((world) => world.runId())
    await quiet.maySleep()
    await eventually('the column Empty', async () => /^\d+s$/.test(quiet.emptyColumn()))

    await quiet.isAsleep()
    // They were Active for longer than the world that sleeps now.
    for (const world of busy) {
      expect(world.read().status).toMatchObject({ phase: 'Active', idle: { keptAwakeBy: 'Players' } })
      await world.leave()
    }
    expect(busy.map((world) => world.runId())).toEqual(busyRuns)

    const slept = quiet.runId()
    const wokenMs = [await quiet.wakes(checkAccess)]
    const woken = quiet.runId()
    expect(woken).not.toBe(slept)
    await quiet.enters()
    const [first, last] = await quiet.deployments()
    expect(last).toMatchObject({ wokenBy: expect.stringContaining(userId) })
    expect(last).not.toHaveProperty('endReason')
    expect(first).toMatchObject({ endReason: 'Idle' })
    expect(first).not.toHaveProperty('wokenBy')

    await Promise.all(busy.map((world) => world.isAsleep()))
    expect(quiet.read().status).toMatchObject({ phase: 'Active', runId: woken, idle: { keptAwakeBy: 'Players' } })
    for (const [at, by] of [checkAccess, wake].entries()) {
      const world = busy[at]
      if (world === undefined) throw new Error('no world')
      wokenMs.push(await world.wakes(by))
      await world.enters()
    }
    const all = [quiet, ...busy]
    for (const [at, { name, coldMs }] of all.entries()) {
      const [cold, afterWake] = [coldMs, wokenMs[at] ?? 0].map((ms) => `${(ms / 1_000).toFixed(1)} s`)
      process.stdout.write(`[sleep] ${name}: Active ${cold} after its creation, and ${afterWake} after a wake\n`)
    }
    for (const world of all) world.patch({ state: 'Stopped' })
  })
