import { sql } from 'drizzle-orm'
import { expect } from 'vitest'
import type { Database } from '#api/platform/database/client.ts'
import type { AwakeReason, WorldIdle } from '#shared/domain/idle.ts'
import { haveBotsEnded } from '#shared/domain/phases.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import { orAbsent } from '#test/crash/until.ts'
import { type Counts, nobody, type PlayerServers } from '#test/support/playerServers.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { eventually } from '#test/support/wait.ts'
import type { System } from './model.ts'

type Place = Pick<System, 'simulator' | 'servers' | 'namespace'>

const keyOf = ({ metadata }: World): string => `${metadata.namespace}/${metadata.name}`

/** Three polls with their timeouts, and the longest time for which an operator is suspended. */
const knownMs = 20_000

/** Returns the worlds whose run ended as if nobody was in, although their servers said something else all the time before. */
export const findSleepers = (worlds: readonly World[], servers: PlayerServers): string[] =>
  worlds.flatMap((world) => {
    const { endReason, endedAt = '' } = world.status?.run ?? {}
    const endedMs = Date.parse(endedAt)
    if (endReason !== 'Idle' || servers.wasEmpty(keyOf(world), endedMs - knownMs, endedMs)) return []
    return [`${keyOf(world)} fell asleep at ${endedAt} although its server never said that nobody is in`]
  })

/** Returns the runs of an organization that a wake began after another end than sleep. */
export const findWrongWakes = async (db: Database, organizationId: string): Promise<string[]> => {
  const { rows } = await db.execute<{ id: string; before: string | null }>(sql`
    select woken.id, last.end_reason as before from deployments woken
    left join lateral (
      select end_reason from deployments other
      where other.world_id = woken.world_id and other.created_at < woken.created_at
      order by other.created_at desc limit 1
    ) last on true
    where woken.organization_id = ${organizationId} and woken.woken_by is not null
      and last.end_reason is distinct from 'Idle'`)
  return rows.map(({ id, before }) => `${id} was woken after ${before}`)
}

/** Returns the reason that must keep a world awake. Undefined if it must fall asleep, `unknown` if the model cannot tell. */
const expectedReason = (
  { status = {}, metadata }: World,
  counts: Counts,
  bots: readonly BotDeployment[],
): AwakeReason | 'unknown' | undefined => {
  if (status.run?.probes !== true) return 'unknown'
  if (counts !== 'silent' && counts.active > 0) return 'Players'
  if (counts !== 'silent' && counts.queued > 0) return 'WaitingPlayers'
  const wanted = bots.filter(({ spec }) => spec.worldName === metadata.name && spec.count > 0)
  if (wanted.length === 0) return counts === 'silent' ? 'UnknownCounts' : undefined
  return wanted.some((each) => !haveBotsEnded(each.status ?? {})) ? 'Bots' : 'unknown'
}

/** Waits until each world that runs with `idleStopMinutes` sleeps, or is kept awake by what the model says. */
export const untilIdleAsExpected = async ({ simulator, servers, namespace }: Place): Promise<string[]> => {
  const { items: worlds } = await simulator.worlds.list({ namespace })
  const { items: bots } = await simulator.botDeployments.list({ namespace })
  const running = worlds.filter(
    ({ spec, status, metadata }) =>
      spec.idleStopMinutes !== undefined && status?.phase === 'Active' && metadata.deletionTimestamp === undefined,
  )
  const seen: string[] = []
  for (const world of running) {
    const expected = expectedReason(world, servers.countsOf(keyOf(world)), bots)
    if (expected === 'unknown') continue
    const ref = { namespace, name: world.metadata.name }
    await eventually(`${ref.name} is kept awake by ${expected ?? 'nothing'}, and sleeps if it is nothing`, async () => {
      if (expected === undefined) await simulator.passMinutes(ref, 2)
      const { phase, idle, conditions } = (await orAbsent(simulator.worlds.get(ref)))?.status ?? {}
      if (expected === undefined ? idle?.asleepSince !== undefined : idle?.keptAwakeBy === expected) return true
      throw new Error(JSON.stringify({ phase, idle, conditions }))
    })
    seen.push(expected ?? 'asleep')
  }
  return seen
}

type Run = { readonly endReason?: string; readonly wokenBy?: string }

/**
 * Checks with a new world that it stays awake for each reason, falls asleep without one, wakes for a user who enters it, and does not
 * wake after a user has stopped it.
 */
export const checkSleepAndWake = async (system: System): Promise<void> => {
  const { rest, user, servers, simulator, namespace } = system
  const runtime = { idleStopMinutes: 1, wakeOnAccess: 'Access' }
  const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'Last', transient: false, runtime })
  const { worldId: name } = made.body
  const path = `/api/worlds/${name}/`
  const server = `${namespace}/${name}`
  const read = async (): Promise<WorldBody['status']> => (await rest.call<WorldBody>('GET', path)).body.status
  const until = (what: string, isSo: (idle: WorldIdle, phase: string) => boolean) =>
    eventually(`${name}: ${what}`, async () => {
      const { idle = {}, phase } = await read()
      return isSo(idle, phase)
    })
  const fallsAsleep = async (): Promise<void> => {
    await eventually(`${name} sleeps`, async () => {
      await simulator.passMinutes({ namespace, name }, 2)
      return (await read()).idle?.asleepSince !== undefined
    })
    await eventually(
      `${name} has no pod`,
      async () => (await orAbsent(simulator.pods.get({ namespace, name }))) === undefined,
    )
  }
  const enter = () => user.call<{ hasAccess: boolean; reason?: string }>('GET', `${path}users/last/access/`)
  await rest.call('POST', `${path}start/`)
  await until('Active, and nobody is in', ({ since }, phase) => phase === 'Active' && since !== undefined)
  for (const [counts, reason] of [
    [{ active: 1, queued: 0 }, 'Players'],
    [{ active: 0, queued: 1 }, 'WaitingPlayers'],
    ['silent', 'UnknownCounts'],
  ] as const) {
    servers.report(server, counts)
    await until(`kept awake by ${reason}`, ({ keptAwakeBy }) => keptAwakeBy === reason)
  }
  servers.report(server, nobody)
  await fallsAsleep()
  expect(await enter()).toMatchObject({ status: 200, body: { hasAccess: true } })
  await until('Active again', (idle, phase) => phase === 'Active' && idle.asleepSince === undefined)
  await fallsAsleep()
  await rest.call('POST', `${path}stop/`)
  expect(await enter()).toMatchObject({ status: 200, body: { hasAccess: false } })
  expect(await rest.call('POST', `${path}wake/`)).toMatchObject({ status: 200, body: { phase: 'Stopped' } })
  const { body: runs } = await rest.call<Run[]>('GET', `${path}deployments/`)
  expect(runs.map(({ endReason, wokenBy }) => [endReason, wokenBy !== undefined])).toEqual([
    ['Idle', false],
    ['Idle', true],
  ])
}
