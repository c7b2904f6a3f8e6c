import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inSession } from '#dev/postgres.ts'
import type { NextAction, ScheduledAction } from '#shared/domain/schedule.ts'
import { aCluster } from '#test/support/cluster.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { holdRow } from '#test/support/heldRow.ts'
import { type ApiProcess, aDatabase, logLines, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

// There is no operator: the tests write what it would report. Two replicas do the actions.
const cluster = aCluster()
let databaseUrl: string
let replicas: ApiProcess[]
let tenant: Tenant
beforeAll(async () => {
  databaseUrl = await aDatabase()
  const settings = { ORRERY_LIMIT_REQUESTS_PER_SECOND: '1000', ORRERY_LIMIT_REQUEST_BURST: '1000' }
  replicas = [await startApi({ databaseUrl, settings }), await startApi({ databaseUrl, settings })]
  tenant = await aTenant(urlOf(0))
})
afterAll(async () => {
  await Promise.all(replicas.map((replica) => replica.stop()))
  await cluster.close()
})

const urlOf = (at: number): string => replicas[at]?.url ?? ''

type Status = WorldBody['status'] & { nextAction?: NextAction }
type Event = { reason: string; message: string; type: string }
type AuditRecord = { action: string; door: string; actor: { kind: string; id?: string }; organizationId: string }

const query = (text: string, values: readonly unknown[] = []) =>
  inSession(databaseUrl, async (sql) => (await sql.query<Record<string, unknown>>(text, [...values])).rows)

const minuteMs = 60_000
const dayMs = 1_440 * minuteMs

/** A whole minute, this many minutes ago. */
const minutesAgo = (minutes: number): Date => new Date((Math.floor(Date.now() / minuteMs) - minutes) * minuteMs)
/** The cron of a time of the day in UTC. */
const daily = (at: Date): string => `${at.getUTCMinutes()} ${at.getUTCHours()} * * *`
const aDayAfter = (at: Date): string => new Date(at.getTime() + dayMs).toISOString()

type Times = { start?: Date; stop?: Date; restart?: Date; whenEmptyWithinMinutes?: number }

const toSchedule = ({ start, stop, restart, ...rest }: Times) => ({
  ...(start && { start: daily(start) }),
  ...(stop && { stop: daily(stop) }),
  ...(restart && { restart: { at: daily(restart), ...rest } }),
})

/** The columns of the row that the operator reports. */
const reports = {
  active: { phase: 'Active', queue_queued: 0, queue_active: 0 },
  played: { phase: 'Active', queue_queued: 0, queue_active: 3 },
  queued: { phase: 'Active', queue_queued: 1, queue_active: 0 },
  silent: { phase: 'Active', queue_queued: null, queue_active: null },
  asleep: { phase: 'Stopped', idle: JSON.stringify({ asleepSince: new Date().toISOString() }) },
  ended: { phase: 'Stopped' },
  failed: { phase: 'Error' },
} as const

/** A world with daily times that have passed. Its schedule counts from now, until `isDue` sets it back. */
const aWorld = async (times: Times, of: Tenant = tenant) => {
  const id = await of.world({ runtime: { schedule: toSchedule(times) } })
  const path = `/api/worlds/${id}/`
  const call = async <T>(method: string, more = '', body?: object) => {
    const answer = await of.rest.call<T>(method, `${path}${more}`, body)
    expect(answer.status).toBe(200)
    return answer.body
  }
  const set = (columns: Record<string, unknown>) => {
    const names = Object.keys(columns)
    const assigned = names.map((name, at) => `${name} = $${at + 2}`).join(', ')
    return query(`update worlds set ${assigned} where id = $1`, [id, ...Object.values(columns)])
  }
  const status = async () => (await call<{ status: Status }>('GET')).status
  const events = async () => (await call<Event[]>('GET', 'events/')).map(({ reason, message }) => [reason, message])
  return {
    id,
    path,
    call,
    set,
    status,
    events,
    runs: async () =>
      (await call<{ runId: string; status: string }[]>('GET', 'deployments/')).map(({ runId }) => runId),
    starts: async () => {
      await call('POST', 'start/')
      return (await status()).runId
    },
    /** Lets the operator report, and the next action be at this time. */
    isDue: (what: ScheduledAction, at: Date, { by, report = {} }: { by?: Date; report?: object } = {}) =>
      set({
        next_action: JSON.stringify({ what, at: at.toISOString(), ...(by && { by: by.toISOString() }) }),
        ...report,
      }),
    /** Resolves once the schedule waits for the next time after one that passed. */
    waitsFor: (what: ScheduledAction, at: Date) =>
      eventually(`${id} waits for the next ${what}`, async () => {
        const { nextAction } = await status()
        return nextAction?.what === what && nextAction.at === aDayAfter(at) && nextAction
      }),
    records: async () => {
      const { body } = await of.rest.call<AuditRecord[]>('GET', `/api/audit/?resource=${id}&door=system`)
      return body
    },
    /** The version that each change of the settings and of the run raises. */
    version: async () => (await query('select revision, updated_at from worlds where id = $1', [id]))[0],
  }
}
type AWorld = Awaited<ReturnType<typeof aWorld>>

describe('a time of the schedule', () => {
  const at = minutesAgo(3)

  test('starts a run, once, with an event and an audit record', async () => {
    const world = await aWorld({ start: at })
    expect((await world.status()).nextAction).toEqual({ what: 'start', at: aDayAfter(at) })
    await world.isDue('start', at)
    await world.waitsFor('start', at)
    const { phase, runId } = await world.status()
    expect([phase, await world.runs()]).toEqual(['Starting', [runId]])
    expect(await world.events()).toEqual([['Started', `Run ${runId} was requested by the schedule.`]])
    expect(await world.records()).toMatchObject([
      { action: 'startWorld', door: 'system', actor: { kind: 'system', id: 'schedule' }, resources: [world.id] },
    ])
  })

  test('stops what runs', async () => {
    const world = await aWorld({ stop: at })
    const runId = await world.starts()
    await world.isDue('stop', at, { report: reports.active })
    await world.waitsFor('stop', at)
    const { phase } = await world.status()
    expect([phase, await world.runs()]).toEqual(['Stopped', [runId]])
    expect((await world.events())[0]).toEqual(['Stopped', 'The schedule stopped the world.'])
    expect(await world.records()).toMatchObject([{ action: 'stopWorld' }])
  })

  test('restarts what runs: another run replaces the old one', async () => {
    const world = await aWorld({ restart: at })
    const old = await world.starts()
    await world.set({ started_at: minutesAgo(60) })
    await world.isDue('restart', at, { report: reports.active })
    await world.waitsFor('restart', at)
    const { phase, runId } = await world.status()
    expect([phase, await world.runs()]).toEqual(['Starting', [old, runId]])
    const message = `Run ${runId} was requested by the schedule. It replaces run ${old}.`
    expect((await world.events())[0]).toEqual(['Restarted', message])
    expect(await world.records()).toMatchObject([{ action: 'startWorld' }])
  })
})

const start = minutesAgo(3)

describe('a start', () => {
  const states = {
    sleeps: (world: AWorld) => world.isDue('start', start, { report: reports.asleep }),
    failed: (world: AWorld) => world.isDue('start', start, { report: reports.failed }),
    'a person stopped': async (world: AWorld) => {
      await world.call('POST', 'stop/')
      await world.isDue('start', start)
    },
  }
  test.each(Object.entries(states))('begins a run of a world that %s', async (_, isDue) => {
    const world = await aWorld({ start })
    const old = await world.starts()
    await isDue(world)
    await world.waitsFor('start', start)
    const { phase, runId, idle } = await world.status()
    expect([phase, idle, await world.runs()]).toEqual(['Starting', undefined, [old, runId]])
  })

  test('of a world that runs changes nothing but the next time', async () => {
    const world = await aWorld({ start })
    const runId = await world.starts()
    await world.isDue('start', start, { report: reports.active })
    await world.waitsFor('start', start)
    expect(await world.status()).toMatchObject({ phase: 'Active', runId })
    expect([await world.runs(), (await world.events()).length, await world.records()]).toEqual([[runId], 1, []])
  })

  test('that is refused is an event with the sentence of the refusal, and is not tried again', async () => {
    const own = await aTenant(urlOf(0))
    const world = await aWorld({ start }, own)
    const limits = (changes: object) =>
      own.rest.call<object>('PATCH', `/api/organizations/${own.scope.organizationId}/limits/`, changes)
    await limits({ maxRunningCapacity: 1 })
    await world.isDue('start', start)
    await world.waitsFor('start', start)
    const { body } = await own.rest.call<{ detail: string }>('POST', `${world.path}start/`)
    const refused = ['ScheduleRefused', `The start at ${start.toISOString()} was refused. ${body.detail}`]
    expect([await world.events(), await world.runs(), await world.records()]).toEqual([[refused], [], []])
    expect(body.detail).toContain('maxRunningCapacity')

    await limits({ maxRunningCapacity: 1_000 })
    await aTurnPasses()
    expect([(await world.status()).phase, await world.events()]).toEqual(['Inactive', [refused]])
  })
})

describe('a stop', () => {
  const stop = minutesAgo(3)

  test('ends a sleep', async () => {
    const world = await aWorld({ stop })
    await world.starts()
    await world.isDue('stop', stop, { report: reports.asleep })
    await world.waitsFor('stop', stop)
    expect((await world.status()).idle).toBeUndefined()
    expect((await world.events())[0]).toEqual(['Stopped', 'The schedule stopped the world.'])
  })

  test('of a world that ended changes nothing but the next time', async () => {
    const world = await aWorld({ stop })
    await world.starts()
    await world.isDue('stop', stop, { report: reports.ended })
    await world.waitsFor('stop', stop)
    expect([(await world.events()).length, await world.records()]).toEqual([1, []])
  })
})

describe('a restart', () => {
  const restart = minutesAgo(3)
  const byNow = minutesAgo(1)
  const byLater = minutesAgo(-57)
  const waiting = { restart, whenEmptyWithinMinutes: 60 }

  /** A world that runs for an hour. */
  const aRunningWorld = async (times: Times, of?: Tenant) => {
    const world = await aWorld(times, of)
    const old = await world.starts()
    await world.set({ started_at: minutesAgo(60) })
    return { ...world, old }
  }

  test('leaves a world alone that sleeps', async () => {
    const world = await aRunningWorld({ restart })
    await world.isDue('restart', restart, { report: reports.asleep })
    await world.waitsFor('restart', restart)
    expect([await world.runs(), await world.records()]).toEqual([[world.old], []])
  })

  test('that is refused leaves the old run', async () => {
    const own = await aTenant(urlOf(0))
    const world = await aRunningWorld({ restart }, own)
    const path = `/api/organizations/${own.scope.organizationId}/limits/`
    await own.rest.call('PATCH', path, { maxRunningCapacity: 1 })
    await world.isDue('restart', restart, { report: reports.active })
    await world.waitsFor('restart', restart)
    expect(await world.status()).toMatchObject({ phase: 'Active', runId: world.old })
    const message = expect.stringMatching(`^The restart at ${restart.toISOString()} was refused. .*maxRunningCapacity`)
    expect([(await world.events())[0], await world.runs()]).toEqual([['ScheduleRefused', message], [world.old]])
  })

  test.each(['played', 'queued', 'silent'] as const)(
    'waits without a write while the world is %s, and begins once nobody is in it',
    async (report) => {
      const world = await aRunningWorld(waiting)
      await world.isDue('restart', restart, { by: byLater, report: reports[report] })
      const before = await world.version()
      await aTurnPasses()
      expect(await world.version()).toEqual(before)
      expect((await world.status()).nextAction).toMatchObject({ what: 'restart', by: byLater.toISOString() })
      await world.set(reports.active)
      const { by } = await world.waitsFor('restart', restart)
      expect(by).toBe(aDayAfter(byLater))
      expect(await world.runs()).toEqual([world.old, (await world.status()).runId])
    },
  )

  test('begins at the end of its wait with players in the world', async () => {
    const world = await aRunningWorld({ restart, whenEmptyWithinMinutes: 2 })
    await world.isDue('restart', restart, { by: byNow, report: reports.played })
    await world.waitsFor('restart', restart)
    expect(await world.runs()).toEqual([world.old, (await world.status()).runId])
  })

  test('waits no more for a world that stopped', async () => {
    const world = await aRunningWorld(waiting)
    await world.isDue('restart', restart, { by: byLater, report: reports.played })
    await world.call('POST', 'stop/')
    await world.waitsFor('restart', restart)
    expect([(await world.status()).phase, await world.runs()]).toEqual(['Stopped', [world.old]])
  })
})

test('rows that are older than their resources, as after a restore of the database, stay as they are and delay no other', async () => {
  const own = await aTenant(urlOf(0))
  const namespace = `orrery-${own.scope.organizationId}`
  // More than one turn takes of an organization.
  const worlds = await concurrently(21, async () => {
    const world = await aWorld({ start }, own)
    const runId = await world.starts()
    await eventually('the resource has the run', async () => {
      const { spec } = await cluster.worlds.get({ namespace, name: world.id }).catch(() => ({ spec: undefined }))
      return spec?.runId === runId
    })
    await world.set({ revision: 1, run_revision: 0, state: 'Stopped', run_id: null, phase: 'Inactive' })
    await world.isDue('start', start)
    return world
  })
  const other = await aWorld({ start: minutesAgo(2) }, own)
  await other.isDue('start', minutesAgo(2))
  await eventually('the schedule of another world acts', async () => (await other.runs()).length === 1)
  for (const world of worlds) {
    expect(await world.version()).toMatchObject({ revision: '1' })
    expect(await world.events()).toHaveLength(1)
  }
})

describe('times that passed while no API ran', () => {
  const [earlier, later] = [minutesAgo(20), minutesAgo(10)]

  test('are done together: a stop and a later start of a world that runs are one other run', async () => {
    const world = await aWorld({ stop: earlier, start: later })
    const old = await world.starts()
    await world.isDue('stop', earlier, { report: reports.active })
    await world.waitsFor('stop', earlier)
    const { phase, runId } = await world.status()
    expect([phase, await world.runs()]).toEqual(['Starting', [old, runId]])
    expect((await world.events()).map(([reason]) => reason)).toEqual(['Restarted', 'Started'])
  })

  test('are a stop if the later start is refused', async () => {
    const own = await aTenant(urlOf(0))
    const world = await aWorld({ stop: earlier, start: later }, own)
    const old = await world.starts()
    const path = `/api/organizations/${own.scope.organizationId}/limits/`
    await own.rest.call('PATCH', path, { maxRunningCapacity: 1 })
    await world.isDue('stop', earlier, { report: reports.active })
    await world.waitsFor('stop', earlier)
    expect([(await world.status()).phase, await world.runs()]).toEqual(['Stopped', [old]])
    const reasons = (await world.events()).map(([reason]) => reason)
    expect(reasons.slice(0, 2).toSorted()).toEqual(['ScheduleRefused', 'Stopped'])
    expect(await world.records()).toMatchObject([{ action: 'stopWorld' }])
  })

  test('are an event and no action if they are more than an hour ago', async () => {
    const at = minutesAgo(90)
    const world = await aWorld({ start: at })
    await world.isDue('start', at)
    await world.waitsFor('start', at)
    const message = `The start at ${at.toISOString()} was missed by more than an hour, so it was not done.`
    expect([await world.runs(), await world.events()]).toEqual([[], [['ScheduleMissed', message]]])
    expect(await world.records()).toEqual([])
  })
})

/** Resolves once an action was done that became due now, after all that are due already. */
const aTurnPasses = async (): Promise<void> => {
  for (const at of [minutesAgo(2), minutesAgo(2)]) {
    const other = await aWorld({ start: at })
    await other.isDue('start', at)
    await other.waitsFor('start', at)
  }
}

describe('with two replicas', () => {
  test('each action is done once, also beyond those of one turn', async () => {
    const own = await aTenant(urlOf(0))
    const path = `/api/organizations/${own.scope.organizationId}/limits/`
    await own.rest.call('PATCH', path, { maxRunningCapacity: 100_000 })
    const ids = await concurrently(100, () => own.world({ runtime: { schedule: toSchedule({ start }) } }))
    const next = JSON.stringify({ what: 'start', at: start.toISOString() })
    await query('update worlds set next_action = $2 where id = any($1)', [ids, next])
    await eventually('all actions', async () => {
      const rows = await query(`select from worlds where id = any($1) and next_action ->> 'at' = $2`, [
        ids,
        aDayAfter(start),
      ])
      return rows.length === ids.length
    })
    const counts = await query(
      `select (select count(*)::int from deployments where world_id = any($1)) as runs,
        (select count(*)::int from world_events where world_id = any($1) and reason = 'Started') as events,
        (select count(*)::int from world_events where world_id = any($1)) as "allEvents",
        (select count(*)::int from audit_records where organization_id = $2 and door = 'system') as records`,
      [ids, own.scope.organizationId],
    )
    expect(counts).toEqual([{ runs: 100, events: 100, allEvents: 100, records: 100 }])
  })

  test('a world that waits for its next time is not written', async () => {
    const world = await aWorld({ start })
    const before = await world.version()
    await aTurnPasses()
    expect(await world.version()).toEqual(before)
  })

  test('an organization whose row is locked delays no action of another', async () => {
    const [busy, other] = [await aTenant(urlOf(0)), await aTenant(urlOf(0))]
    const limits = `/api/organizations/${busy.scope.organizationId}/limits/`
    await busy.rest.call('PATCH', limits, { maxRunningCapacity: 100_000 })
    const delayed = await concurrently(20, () => aWorld({ start }, busy))
    const world = await aWorld({ start }, other)
    const row = await holdRow(databaseUrl, 'organizations', busy.scope.organizationId)
    try {
      for (const each of delayed) await each.isDue('start', start)
      await row.isWaitedFor(1)
      await world.isDue('start', start)
      await world.waitsFor('start', start)
      expect(await delayed[0]?.runs()).toEqual([])
      await eventually('an action gives up its lock', async () =>
        delayed.flatMap(failuresOf).some(({ err }) => (err as Error).message.includes('lock timeout')),
      )
    } finally {
      await row.release()
    }
    for (const each of delayed) await each.waitsFor('start', start)
    for (const each of delayed) expect(await each.runs()).toHaveLength(1)
  })

  test('an action that fails is tried again later, and delays no other one', async () => {
    const [poisoned, world] = [await aWorld({ start }), await aWorld({ start })]
    await query(
      `create function refuse() returns trigger language plpgsql as $$ begin raise 'refused by the test'; end $$`,
    )
    await query(`create trigger refuse before update of revision on worlds for each row when (new.id = '${poisoned.id}')
      execute function refuse()`)
    await poisoned.isDue('start', start)
    await failureOf(poisoned)
    await world.isDue('start', start)
    await world.waitsFor('start', start)
    await aTurnPasses()
    expect(await poisoned.runs()).toEqual([])
    await query('drop trigger refuse on worlds')
    await poisoned.waitsFor('start', start)
    expect(await poisoned.runs()).toHaveLength(1)
    for (const { logFile } of replicas) {
      const tries = failuresIn(logFile, poisoned).map(({ time, retryMs }) => [
        Date.parse(String(time)),
        Number(retryMs),
      ])
      for (const [at, [timeMs = 0]] of tries.slice(1).entries()) {
        const [beforeMs = 0, retryMs = 0] = tries[at] ?? []
        expect(timeMs - beforeMs).toBeGreaterThanOrEqual(retryMs)
      }
    }
  })
})

const failureMessage = 'an action of a schedule failed'
const failuresIn = (logFile: string, { id }: AWorld) =>
  logLines(logFile).filter(({ world, msg }) => world === id && msg === failureMessage)
const failuresOf = (world: AWorld) => replicas.flatMap(({ logFile }) => failuresIn(logFile, world))
const failureOf = (world: AWorld) => eventually('two failures on a replica', async () => failuresOf(world).length > 2)

test('the next action is in REST and realtime, and no stranger sees it', async () => {
  const world = await aWorld({ start })
  await world.call('PATCH', '', { isPublic: true })
  const socket = await openSocket(urlOf(1), tenant.scope)
  const { projectId } = tenant.scope
  socket.subscribe('worlds', projectId)
  const fed = () =>
    socket
      .updatesOf(projectId)
      .flatMap(({ data }) => (data as { worlds: { worldId: string; status?: Status }[] }).worlds)
      .findLast(({ worldId }) => worldId === world.id)?.status
  const isFed = (phase: string) =>
    eventually(`the feed says ${phase}`, async () => {
      const status = fed()
      return status?.phase === phase && status.nextAction?.at === aDayAfter(start)
    })
  await isFed('Inactive')
  await world.isDue('start', start)
  await world.waitsFor('start', start)
  await isFed('Starting')
  socket.terminate()

  await world.set(reports.active)
  const stranger = await (await aTenant(urlOf(0))).withKey([])
  const shown = (await stranger.call<{ documentId: string }[]>('GET', '/api/worlds/public/')).body
  const text = JSON.stringify(shown.find(({ documentId }) => documentId === world.id))
  expect(text).toContain('Active')
  expect(text).not.toMatch(/schedule|nextAction/)
})
