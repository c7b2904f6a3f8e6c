import { expect, test } from 'vitest'
import type { BotRow } from '#api/bots/table.ts'
import type { BotDeployment, BotDeploymentSpec } from '#shared/resources/botDeployment.ts'
import { observeBots } from './observeBots.ts'

const spec = { revision: 2, count: 3 } as BotDeploymentSpec
const row = {
  ...{ id: 'bot-1', revision: 2, count: 3, applied: spec, deletingAt: null },
  ...{ phase: 'Pending', statusMessage: '', startedAt: null },
} as BotRow
const live = { metadata: { name: 'bot-1' }, spec } as BotDeployment
const going = { ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const running = { phase: 'Running' as const, statusMessage: 'all run', startedAt: new Date(5) }
const seen = {
  ...live,
  status: { phase: running.phase, message: running.statusMessage, startedAt: '1970-01-01T00:00:00.005Z' },
} as BotDeployment

test.each<[string, BotRow, BotDeployment, boolean, object]>([
  ['nothing to do', row, live, false, {}],
  ['a resource ahead of the row freezes', row, { ...live, spec: { ...spec, revision: 3 } }, false, { frozen: true }],
  ['a deletion by another door is recorded and let go', row, going, false, { markDeleting: true, release: true }],
  ['a deletion that is recorded is let go', { ...row, deletingAt: new Date(0) }, going, false, { release: true }],
  ['a row that is being deleted waits', { ...row, deletingAt: new Date(0) }, live, false, {}],
  ['a count by another door is adopted', row, { ...live, spec: { ...spec, count: 5 } }, false, { adoptCount: 5 }],
  ['a count that REST changed wins', { ...row, count: 4 }, { ...live, spec: { ...spec, count: 5 } }, true, {}],
  ['a resource behind is pushed again', { ...row, revision: 3 }, live, false, { pushAgain: true }],
  ['but not while a push waits', { ...row, revision: 3 }, live, true, {}],
  ['a status is taken', row, seen, false, { observed: running }],
  ['a status that is known changes nothing', { ...row, ...running }, seen, false, {}],
])('%s', (_, known, resource, dirty, verdict) => {
  expect(observeBots(known, resource, dirty)).toEqual(verdict)
})
