import { expect, test } from 'vitest'
import type { Rights } from '../rights.ts'
import type { Phase, Row } from '../row.ts'
import { aRow } from '../testing/row.ts'
import { type BulkKind, describeAction, describePlan, isSamePlan, notesOf, planBulk } from './plan.ts'

const organization = 'organizations/org-1'
const keyWith = (...permissions: string[]): Rights => ({ kind: 'key', permissions, claims: {} })
const writer = keyWith(`${organization}/**:w`)
const rowsIn = (phase: Phase, count: number, from = 0): Row[] =>
  Array.from({ length: count }, (_, at) => aRow({ id: `wld-${phase}-${from + at}`, projectId: 'prj-1', phase }))
const byId = (rows: readonly Row[]) => new Map(rows.map((row) => [row.id, row]))
const plan = (kind: BulkKind, rows: Row[], credential: Rights = writer) =>
  planBulk(kind, byId(rows).keys(), { credential, organizationId: 'org-1', rows: byId(rows), isMatch: () => true })

test.each<[BulkKind, Phase[]]>([
  ['start', ['Inactive', 'Stopped', 'Error']],
  ['stop', ['Starting', 'Active']],
  ['restart', ['Starting', 'Active']],
  ['delete', ['Inactive', 'Starting', 'Active', 'Stopped', 'Error']],
])('%s acts on worlds that are %j', (kind, phases) => {
  const all: Phase[] = ['Inactive', 'Starting', 'Active', 'Stopped', 'Error']
  const { ids, skips } = plan(
    kind,
    all.flatMap((phase) => rowsIn(phase, 1)),
  )
  expect(ids).toEqual(all.filter((phase) => phases.includes(phase)).map((phase) => `wld-${phase}-0`))
  expect(skips.flatMap((skip) => skip.ids)).toHaveLength(5 - phases.length)
})

test('says first what an action does, and why it leaves worlds out', () => {
  const rows = [...rowsIn('Stopped', 1_212), ...rowsIn('Active', 80), ...rowsIn('Error', 1)]
  const some = keyWith(...rows.slice(8).map(({ id }) => `${organization}/projects/prj-1/worlds/${id}:w`))
  const started = plan('start', rows, some)
  expect(describePlan(started)).toBe('Start 1,205 of 1,293 worlds: 80 run already, 8 need w.')
  expect(describeAction(started)).toBe('Start 1,205 worlds')
  expect(started.skips.map(({ ids }) => ids)).toEqual([
    rowsIn('Active', 80).map(({ id }) => id),
    rowsIn('Stopped', 8).map(({ id }) => id),
  ])
})

test.each<[BulkKind, Row[], Rights, string]>([
  ['start', [...rowsIn('Active', 1), ...rowsIn('Error', 1)], writer, 'Start 1 of 2 worlds: 1 runs already.'],
  ['restart', rowsIn('Stopped', 2), writer, 'Restart 0 of 2 worlds: 2 do not run.'],
  ['stop', rowsIn('Stopped', 1), writer, 'Stop 0 of 1 world: 1 does not run.'],
  ['delete', rowsIn('Active', 1), keyWith(`${organization}/**:r`), 'Delete 0 of 1 world: 1 needs w.'],
])('%s of %j is a sentence', (kind, rows, credential, sentence) => {
  expect(describePlan(plan(kind, rows, credential))).toBe(sentence)
})

test('counts a world once: its state comes before a missing permission', () => {
  expect(describePlan(plan('start', rowsIn('Active', 3), keyWith()))).toBe('Start 0 of 3 worlds: 3 run already.')
})

test('names the organization of its worlds', () => {
  expect(plan('stop', []).organizationId).toBe('org-1')
})

const facts = (rows: readonly Row[]) => ({
  credential: writer,
  organizationId: 'org-1',
  rows: byId(rows),
  isMatch: ({ phase }: Row) => phase === 'Stopped',
})

test('a deletion says which worlds run now, and each action which no longer match the filter', () => {
  const rows = [...rowsIn('Stopped', 35), ...rowsIn('Active', 3), ...rowsIn('Starting', 2), ...rowsIn('Error', 1)]
  const deletion = planBulk('delete', byId(rows).keys(), facts(rows))
  const running = rows.slice(35, 40).map(({ id }) => id)
  expect(notesOf(deletion)).toEqual([
    { text: '5 of them run', ids: running },
    { text: '6 no longer match the filter', ids: rows.slice(35).map(({ id }) => id) },
  ])
  expect(notesOf(planBulk('start', byId(rows).keys(), facts(rows)))).toEqual([
    { text: '1 no longer matches the filter', ids: ['wld-Error-0'] },
  ])
  expect(notesOf(planBulk('delete', ['wld-Stopped-0'], facts(rows)))).toEqual([])
})

test('leaves out worlds that no longer exist', () => {
  const { ids, skips } = planBulk('delete', ['wld-Stopped-0', 'wld-gone'], facts(rowsIn('Stopped', 1)))
  expect([ids, skips]).toEqual([['wld-Stopped-0'], [{ text: '1 no longer exists', ids: ['wld-gone'] }]])
})

test('leaves out worlds with a newer run of a restart whose answer was lost', () => {
  const before = rowsIn('Active', 3)
  const rows = before.map((row, at) => (at === 0 ? row : { ...row, startedAtMs: row.startedAtMs + 1 }))
  const again = { ...facts(rows), before: byId(before) }
  const { ids, skips } = planBulk('restart', byId(rows).keys(), again)
  expect([ids, skips[0]?.text]).toEqual([['wld-Active-0'], '2 have a new run since'])
  expect(planBulk('stop', byId(rows).keys(), again).ids).toHaveLength(3)
})

test('knows a plan that is no longer as it was shown', () => {
  const deletionOf = (rows: Row[]) => plan('delete', rows)
  const shown = rowsIn('Stopped', 2)
  const started = [aRow({ ...shown[0], phase: 'Active' }), ...shown.slice(1)]
  expect(isSamePlan(deletionOf(shown), deletionOf(shown.toReversed()))).toBe(true)
  expect(isSamePlan(deletionOf(shown), deletionOf(shown.slice(1)))).toBe(false)
  expect(isSamePlan(deletionOf(shown), deletionOf(started))).toBe(false)
  const stopOf = (...phases: Phase[]) =>
    plan(
      'stop',
      phases.map((phase) => aRow({ phase })),
    )
  expect(isSamePlan(stopOf('Active'), stopOf('Starting'))).toBe(true)
  expect(isSamePlan(stopOf('Active'), stopOf('Stopped'))).toBe(false)
})
