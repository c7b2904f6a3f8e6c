import { expect, test } from 'vitest'
import type { BotRow } from '#api/domain/bots/table.ts'
import type { BotDeployment, BotDeploymentSpec } from '#shared/resources/botDeployment.ts'
import { observeBots } from './observeBots.ts'

const spec = { revision: 2, count: 3 } as BotDeploymentSpec
const row = {
  ...{ id: 'bot-1', revision: 2, count: 3, applied: spec, deletingAt: null },
  ...{ phase: 'Pending', statusMessage: '', startedAt: null },
} as BotRow
const live = { metadata: { name: 'bot-1' }, spec } as BotDeployment
const going = { ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const drained = {
  ...going,
  metadata: { ...going.metadata, generation: 2 },
  status: { phase: 'Stopped' as const, observedGeneration: 2 },
}
const over = { observed: { phase: 'Stopped' as const, statusMessage: '', startedAt: null } }
const running = { phase: 'Running' as const, statusMessage: 'all run', startedAt: new Date(5) }
const seen = {
  ...live,
  status: { phase: running.phase, message: running.statusMessage, startedAt: new Date(5).toISOString() },
} as BotDeployment

test.each<[string, BotRow, BotDeployment, boolean, object]>([
  ['nothing to do', row, live, false, {}],
  ['a resource ahead of the row freezes', row, { ...live, spec: { ...spec, revision: 3 } }, false, { frozen: true }],
  ['records a deletion with kubectl and waits for the bots', row, going, false, { markDeleting: true }],
  ['a deletion is let go once no bot is left', row, drained, false, { markDeleting: true, release: true, ...over }],
  ['a deletion that is recorded waits for the bots', { ...row, deletingAt: new Date(0) }, going, false, {}],
  [
    'a status from before the deletion lets nothing go',
    { ...row, deletingAt: new Date(0) },
    { ...drained, metadata: { ...drained.metadata, generation: 3 } },
    false,
    over,
  ],
  ['a row that is being deleted waits', { ...row, deletingAt: new Date(0) }, live, false, {}],
  ['adopts a count set with kubectl', row, { ...live, spec: { ...spec, count: 5 } }, false, { adoptCount: 5 }],
  [
    'a count that push wrote, and nobody recorded yet, is no edit',
    { ...row, revision: 4 },
    { ...live, spec: { ...spec, count: 5, revision: 3 } },
    true,
    {},
  ],
  [
    'a count that REST changed wins',
    { ...row, count: 4, revision: 3 },
    { ...live, spec: { ...spec, count: 5 } },
    true,
    {},
  ],
  ['a resource behind is pushed again', { ...row, revision: 3 }, live, false, { pushAgain: true }],
  ['but not while a push waits', { ...row, revision: 3 }, live, true, {}],
  ['a status is taken', row, seen, false, { observed: running }],
  ['a status that is known changes nothing', { ...row, ...running }, seen, false, {}],
])('%s', (_, known, resource, dirty, verdict) => {
  expect(observeBots(known, resource, dirty)).toEqual(verdict)
})
