import { expect } from 'vitest'
import type { Database } from '#api/platform/database/client.ts'
import type { ScheduledAction } from '#shared/domain/schedule.ts'
import type { WorldBody } from '#test/support/rest.ts'
import { countActs, lastMinute } from '#test/support/schedules.ts'
import { eventually } from '#test/support/wait.ts'
import { type Model, makeDue, type Step } from './model.ts'

/** Returns the worlds of an organization whose schedule has acted more often than it was due. */
export const findRepeatedActs = async (db: Database, organizationId: string, { dues }: Model): Promise<string[]> =>
  [...(await countActs(db, organizationId))].flatMap(([id, acts]) => {
    const due = dues.get(id) ?? 0
    return acts <= due ? [] : [`the schedule of ${id} was due ${due} times and has acted ${acts} times`]
  })

const sum = (counts: ReadonlyMap<string, number>): number => [...counts.values()].reduce((all, each) => all + each, 0)

/** Says how often the schedules of an organization were due, and how often they have acted. */
export const describeActs = async (db: Database, organizationId: string, { dues }: Model): Promise<string> =>
  `schedules were due ${sum(dues)} times and acted ${sum(await countActs(db, organizationId))} times`

/** Checks with a new world that its schedule starts it, begins another run and stops it, each once. */
export const checkSchedule = async (step: Pick<Step, 'system' | 'model'>): Promise<void> => {
  const { rest } = step.system
  const runtime = (...actions: readonly ScheduledAction[]) => ({ runtime: { schedule: lastMinute(...actions) } })
  const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', {
    name: 'Scheduled last',
    transient: false,
    ...runtime('start'),
  })
  const { worldId } = made.body
  const path = `/api/worlds/${worldId}/`
  let runId: string | undefined
  const becomes = async (phase: string, isNew: boolean): Promise<void> => {
    expect(await makeDue(step, worldId)).toBe(true)
    runId = await eventually(`${worldId}: ${phase} by the schedule`, async () => {
      const { status } = (await rest.call<WorldBody>('GET', path)).body
      return status.phase === phase && (status.runId !== runId) === isNew && status.runId
    })
  }
  await becomes('Active', true)
  await rest.call('PATCH', path, runtime('stop', 'start'))
  await becomes('Active', true)
  await rest.call('PATCH', path, runtime('stop'))
  await becomes('Stopped', false)
  const { body: runs } = await rest.call<object[]>('GET', `${path}deployments/`)
  expect(runs.length).toBe(2)
}
