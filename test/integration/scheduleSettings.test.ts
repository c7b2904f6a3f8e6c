import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scheduleRule } from '#shared/domain/schedule.ts'
import { idOfUid } from '#shared/ids.ts'
import { groupVersion, pausedAnnotation } from '#shared/resources/group.ts'
import type { WorldSpec } from '#shared/resources/world.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let tenant: Tenant
let namespace: string

beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
  namespace = `orrery-${tenant.scope.organizationId}`
  // The first world of a tenant makes its namespace.
  await cluster.world(namespace, await tenant.world()).exists()
})
afterAll(async () => {
  await api?.stop()
  await cluster.close()
})

/** A month in which no test runs now, so that no action is due. */
const month = ((new Date().getUTCMonth() + 6) % 12) + 1
const on = (day: number): string => `0 5 ${day} ${month} *`
const actionAt = (what: string, day: number, hour = 5) => ({ what, at: expect.stringMatching(timeOf(day, hour)) })
const timeOf = (day: number, hour: number): RegExp =>
  new RegExp(`-${[month, day].map((each) => String(each).padStart(2, '0')).join('-')}T0${hour}:00:00.000Z$`)

type Json = Record<string, unknown>
type Problem = { detail: string; errors?: { path: string; message: string }[] }
type World = WorldBody & { runtime: { schedule?: Json }; status: { nextAction?: Json } }

const create = (schedule: unknown) =>
  tenant.rest.call<Problem & { worldId: string }>('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    runtime: { schedule },
  })
const resource = (name: string, spec: Json) => ({
  apiVersion: groupVersion,
  kind: 'World',
  metadata: { namespace, name, labels: { 'orrery.dev/project': tenant.scope.projectId } },
  spec,
})
const createByHand = (name: string, spec: Json) => cluster.worlds.create(resource(name, spec) as never)

/** A world as REST and kubectl see it. */
const view = (id: string, name = id) => {
  const path = `/api/worlds/${id}/`
  const read = async (): Promise<World> => (await tenant.rest.call<World>('GET', path)).body
  const live = () => cluster.worlds.get({ namespace, name })
  const synced = async () => (await live()).status?.conditions?.find(({ type }) => type === 'Synced')
  const patch = (body: object) =>
    cluster.kubectl('-n', namespace, 'patch', 'world', name, '--type=merge', '-p', JSON.stringify(body))
  const scheduleOf = ({ schedule, nextAction }: Pick<WorldSpec, 'schedule' | 'nextAction'>) => ({
    schedule,
    nextAction,
  })
  return {
    id,
    name,
    read,
    live,
    isRefused: async () => (await synced())?.status === 'False',
    edit: (spec: Json) => patch({ spec }),
    pause: (isPaused: boolean) =>
      patch({ metadata: { annotations: { [pausedAnnotation]: isPaused ? 'true' : null } } }),
    patch: (body: object) => tenant.rest.call<World & Problem>('PATCH', path, body),
    /** Waits until both doors show a schedule and its next action. */
    shows: (schedule: unknown, nextAction: unknown) =>
      eventually('both doors show the schedule', async () => {
        const { runtime, status } = await read()
        expect({ schedule: runtime.schedule, nextAction: status.nextAction }).toEqual({ schedule, nextAction })
        expect(scheduleOf((await live()).spec)).toEqual({ schedule, nextAction })
        return true
      }),
    refusal: (text: string) =>
      eventually(`Synced is False: ${text}`, async () => {
        const condition = await synced()
        return condition?.status === 'False' && condition.message.includes(text)
      }),
  }
}

const aWorld = async (schedule: Json) => {
  const { status, body } = await create(schedule)
  expect({ status, body }).toMatchObject({ status: 200 })
  await cluster.world(namespace, body.worldId).exists()
  return view(body.worldId)
}

const aWorldByHand = async (name: string, spec: Json) => {
  const made = await createByHand(name, spec)
  const world = view(idOfUid('world', made.metadata.uid ?? ''), name)
  await eventually('the adoption', async () => (await world.live()).spec.revision !== undefined)
  return world
}

const form = 'must have the five fields of cron'
const notMinute = 'schedule.start must have a minute from 0 to 59'
const notDay = 'schedule.restart.at must have a day of the week from 0 to 7 or SUN to SAT'

describe('a schedule with a fault is refused', () => {
  test.each([
    ['with a time zone alone', { timeZone: 'Europe/Berlin' }, '', scheduleRule.message, 'schedule must have'],
    ['that is null', null, '', '', undefined],
    ['with a nickname', { start: '@daily' }, '/start', form, 'spec.schedule.start'],
    ['with six fields', { stop: '0 0 5 * * *' }, '/stop', form, 'spec.schedule.stop'],
    ['with an empty text', { start: '' }, '/start', form, 'spec.schedule.start'],
    ['with L', { start: '0 0 L * *' }, '/start', form, 'spec.schedule.start'],
    ['with 101 characters', { start: `${'0,'.repeat(46)}0 * * * *` }, '/start', 'at most 100', 'spec.schedule.start'],
    ['with a restart without a time', { restart: {} }, '/restart/at', '', 'spec.schedule.restart.at'],
    [
      'with a wait of 0 minutes',
      { restart: { at: on(1), whenEmptyWithinMinutes: 0 } },
      '/restart/whenEmptyWithinMinutes',
      '',
      'whenEmptyWithinMinutes',
    ],
    [
      'with a wait of 1441 minutes',
      { restart: { at: on(1), whenEmptyWithinMinutes: 1_441 } },
      '/restart/whenEmptyWithinMinutes',
      '',
      'whenEmptyWithinMinutes',
    ],
    [
      'with a wait of half a minute',
      { restart: { at: on(1), whenEmptyWithinMinutes: 0.5 } },
      '/restart/whenEmptyWithinMinutes',
      '',
      'whenEmptyWithinMinutes',
    ],
    [
      'with an offset as time zone',
      { start: on(1), timeZone: '+01:00' },
      '/timeZone',
      'must be the name of a time zone',
      'spec.schedule.timeZone',
    ],
  ])('by the form at both doors: %s', async (_, schedule, path, text, byHand) => {
    const answer = await create(schedule)
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: `/runtime/schedule${path}` }] } })
    expect(answer.body.errors?.[0]?.message).toContain(text)
    // Null removes a field of a resource.
    if (byHand !== undefined) await expect(createByHand('refused', { schedule })).rejects.toThrow(byHand)
  })

  test.each([
    ['a minute', { start: '60 * * * *' }, '/start', notMinute],
    ['a day', { start: on(1), restart: { at: '0 0 * * 8' } }, '/restart/at', notDay],
    ['a date', { stop: '0 0 30 2 *' }, '/stop', 'schedule.stop never occurs: no date matches 0 0 30 2 *'],
    ['a zone', { start: on(1), timeZone: 'Europe/Atlantis' }, '/timeZone', 'Europe/Atlantis is unknown'],
  ])('by a rule at both doors, with the same sentence: %s', async (fault, schedule, path, text) => {
    const answer = await create(schedule)
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: `/runtime/schedule${path}` }] } })
    const sentence = answer.body.errors?.[0]?.message ?? ''
    expect(sentence).toContain(text)

    const stranger = view('', `has-${fault.replace(' ', '-')}`)
    await createByHand(stranger.name, { schedule })
    await stranger.refusal(sentence)
    expect((await stranger.live()).spec.revision).toBeUndefined()

    const kept = { timeZone: 'UTC', start: on(2) }
    const world = await aWorld(kept)
    expect(await world.patch({ runtime: { schedule } })).toMatchObject({
      status: 400,
      body: { errors: answer.body.errors },
    })
    world.edit({ schedule })
    await world.refusal(sentence)
    await world.shows(kept, actionAt('start', 2))
  })
})

describe('the schedule of a world', () => {
  const inBerlin = { timeZone: 'Europe/Berlin', start: on(2) }
  const berlinHour = month > 3 && month < 11 ? 3 : 4

  test('and its next action are the same at both doors, with UTC by default', async () => {
    const schedule = { start: on(3), stop: on(4), restart: { at: on(2), whenEmptyWithinMinutes: 30 } }
    const by = expect.stringMatching(/T05:30:00.000Z$/)
    const world = await aWorld(schedule)
    await world.shows({ timeZone: 'UTC', ...schedule }, { ...actionAt('restart', 2), by })
    expect((await world.read()).status).toMatchObject({ phase: 'Inactive' })
  })

  test('changes with both doors, which make the next action anew, and each can remove it', async () => {
    const world = await aWorld({ start: on(2) })
    world.edit({ schedule: { stop: on(1) } })
    await world.shows({ timeZone: 'UTC', start: on(2), stop: on(1) }, actionAt('stop', 1))
    world.edit({ schedule: { ...inBerlin, stop: null } })
    await world.shows(inBerlin, actionAt('start', 2, berlinHour))
    expect((await world.patch({ name: 'Foyer' })).body.status.nextAction).toEqual(actionAt('start', 2, berlinHour))
    expect((await world.patch({ runtime: { schedule: { stop: on(3) } } })).status).toBe(200)
    await world.shows({ timeZone: 'UTC', stop: on(3) }, actionAt('stop', 3))

    // A PATCH replaces `runtime` as a whole.
    expect((await world.patch({ runtime: { mapName: 'hall' } })).status).toBe(200)
    await world.shows(undefined, undefined)
    world.edit({ schedule: { stop: on(4) } })
    await world.shows({ timeZone: 'UTC', stop: on(4) }, actionAt('stop', 4))
    world.edit({ schedule: null })
    await world.shows(undefined, undefined)
    expect(await world.isRefused()).toBe(false)
  })

  test('without its last action is refused at both doors', async () => {
    const kept = { timeZone: 'UTC', start: on(2) }
    const world = await aWorld(kept)
    expect(() => world.edit({ schedule: { start: null } })).toThrow('schedule must have')
    await world.shows(kept, actionAt('start', 2))
  })

  test('comes with a world of kubectl, whatever next action the file has', async () => {
    const nextAction = { what: 'stop', at: '2020-01-01T00:00:00Z', by: '2020-01-01T00:00:00Z' }
    const world = await aWorldByHand('with-schedule', { schedule: { start: on(5) }, nextAction })
    await world.shows({ timeZone: 'UTC', start: on(5) }, actionAt('start', 5))
    const plain = await aWorldByHand('without-schedule', { nextAction })
    await plain.shows(undefined, undefined)
  })

  test('is that of one door alone if both change parts of it', async () => {
    const world = await aWorld({ start: on(2) })
    await world.shows({ timeZone: 'UTC', start: on(2) }, actionAt('start', 2))
    world.pause(true)
    expect((await world.patch({ runtime: { schedule: { start: on(3), stop: on(4) } } })).status).toBe(200)
    world.edit({ schedule: { timeZone: 'Asia/Tokyo', start: on(6) }, description: 'Kept' })
    world.pause(false)
    await world.shows({ timeZone: 'UTC', start: on(3), stop: on(4) }, actionAt('start', 3))
    await eventually('the other edit', async () => (await world.read()).description === 'Kept')
  })
})

describe('the next action in a resource', () => {
  const schedule = { timeZone: 'UTC', start: on(2) }
  const other = { what: 'stop', at: '2020-01-01T00:00:00.000Z' }
  const write = (name: string, text: object): string => {
    const file = join(tmpdir(), `${namespace}-${name}.json`)
    writeFileSync(file, JSON.stringify(text))
    return file
  }

  test.each([
    ['changed', { nextAction: other }],
    ['changed in a part', { nextAction: { what: 'stop' } }],
    ['removed', { nextAction: null }],
  ])('is restored after it was %s with kubectl, once and without a refusal', async (_, edit) => {
    const world = await aWorld(schedule)
    await world.shows(schedule, actionAt('start', 2))
    const { metadata, spec } = await world.live()
    world.edit(edit)
    await world.shows(schedule, actionAt('start', 2))
    world.edit({ description: 'Later' })
    await eventually('the later edit', async () => (await world.live()).spec.revision !== spec.revision)
    await world.shows(schedule, actionAt('start', 2))
    expect(await world.isRefused()).toBe(false)
    // Two edits, each with one push.
    expect((await world.live()).metadata.generation).toBe((metadata.generation ?? 0) + 4)
  })

  test('of a world without a schedule is removed', async () => {
    const world = view(await tenant.world())
    await cluster.world(namespace, world.id).exists()
    world.edit({ nextAction: other })
    await world.shows(undefined, undefined)
    world.edit({ description: 'Later' })
    await eventually('the later edit', async () => (await world.read()).description === 'Later')
    await world.shows(undefined, undefined)
  })

  test('comes back after a replacement with kubectl, and an apply of the same file again changes nothing', async () => {
    const file = write('applied', resource('applied', { displayName: 'Applied', schedule: { start: on(2) } }))
    cluster.kubectl('apply', '-f', file)
    const { metadata } = await cluster.worlds.get({ namespace, name: 'applied' })
    const world = view(idOfUid('world', metadata.uid ?? ''), 'applied')
    await eventually('the adoption', async () => (await world.live()).spec.revision !== undefined)
    await world.shows(schedule, actionAt('start', 2))
    const before = await world.live()
    expect(cluster.kubectl('apply', '-f', file)).toContain('unchanged')
    expect((await world.live()).metadata.generation).toBe(before.metadata.generation)

    const { nextAction: _, ...spec } = before.spec
    cluster.kubectl('replace', '-f', write('replaced', { ...before, spec }))
    await world.shows(schedule, actionAt('start', 2))
    expect(await world.isRefused()).toBe(false)
  })
})
