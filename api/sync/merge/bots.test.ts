import { expect, test } from 'vitest'
import type { BotRow } from '#api/domain/bots/table.ts'
import { desiredBotSpec } from '#api/sync/rows/desired.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { type BotDeployment, botDeploymentSpecSchema, readBots } from '#shared/resources/botDeployment.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { toBotColumns } from './bots.ts'
import { decideBots } from './testing/facts.ts'

const granted = {
  uid: 'uid',
  organizationId: 'org-00000000000000000000000001',
  projectId: 'prj-00000000000000000000000001',
  worldId: 'wld-00000000000000000000000001',
  botDeploymentId: 'bot-00000000000000000000000001',
  count: 3,
  cpu: '100m',
  memory: '128Mi',
  args: [],
}
const spec = botDeploymentSpecSchema.parse({ worldName: 'wld-1', count: 3, revision: 2, granted })
const now = new Date(0)
const row: BotRow = {
  id: granted.botDeploymentId,
  organizationId: granted.organizationId,
  projectId: granted.projectId,
  worldId: granted.worldId,
  worldName: 'wld-1',
  resourceName: 'bot-1',
  resourceUid: 'uid',
  cluster: 'default',
  targetCluster: null,
  revision: 2,
  count: 3,
  description: '',
  cpu: spec.cpu,
  memory: spec.memory,
  args: [],
  durationMinutes: null,
  metadata: spec.metadata,
  refusal: null,
  pushRefusal: null,
  applied: spec,
  appliedResourceVersion: '5',
  phase: 'Pending',
  statusMessage: '',
  startedAt: null,
  conditions: [],
  deletingAt: null,
  purgeAt: null,
  removedAt: null,
  createdAt: now,
  updatedAt: now,
}
const live = { metadata: { name: 'bot-1', uid: 'uid' }, spec } as BotDeployment
const { granted: _, ...ungranted } = spec
const going = { ...live, metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const drained = {
  ...going,
  metadata: { ...going.metadata, generation: 2 },
  status: { phase: 'Stopped' as const, observedGeneration: 2 },
}
const merged = { is: 'merged', state: {}, adopted: [], acknowledged: false, reasons: [], pushAgain: false }
const leaving = { is: 'leaving', state: {}, markDeleting: false, release: false }
const over = { state: { observed: { phase: 'Stopped' as const, statusMessage: '', startedAt: null, conditions: [] } } }
const running = { phase: 'Running' as const, statusMessage: 'all run', startedAt: new Date(5), conditions: [] }
const seen = {
  ...live,
  status: { phase: running.phase, message: running.statusMessage, startedAt: new Date(5).toISOString() },
} as BotDeployment

test.each<[string, BotRow, BotDeployment, boolean, object, ((pointer: string) => boolean)?]>([
  ['nothing to do', row, live, false, merged],
  [
    'freezes a row whose resource is ahead of it',
    row,
    { ...live, spec: { ...spec, revision: 3 } },
    false,
    { is: 'frozen' },
    () => true,
  ],
  [
    'releases a deleted resource whose row is frozen',
    row,
    { ...drained, spec: { ...spec, revision: 3 } },
    false,
    { ...leaving, markDeleting: true, release: true },
    () => true,
  ],
  ['records a deletion with kubectl and waits for the bots', row, going, false, { ...leaving, markDeleting: true }],
  [
    'removes the finalizer once no bot is left',
    row,
    drained,
    false,
    { ...leaving, markDeleting: true, release: true, ...over },
  ],
  ['a recorded deletion waits for the bots', { ...row, deletingAt: new Date(0) }, going, false, leaving],
  [
    'keeps the finalizer for a status from before the deletion',
    { ...row, deletingAt: new Date(0) },
    { ...drained, metadata: { ...drained.metadata, generation: 3 } },
    false,
    { ...leaving, ...over },
  ],
  ['a row that is being deleted waits', { ...row, deletingAt: new Date(0) }, live, false, merged],
  [
    'adopts a count set with kubectl',
    row,
    { ...live, spec: { ...spec, count: 5 } },
    false,
    { ...merged, edit: { ...spec, count: 5 }, adopted: ['/count'], acknowledged: true },
  ],
  [
    'does not adopt a count that push wrote but has not recorded',
    { ...row, revision: 4 },
    { ...live, spec: { ...spec, count: 5, revision: 3 } },
    true,
    merged,
    () => true,
  ],
  [
    'prefers a count that REST changed',
    { ...row, count: 4, revision: 3 },
    { ...live, spec: { ...spec, count: 5 } },
    true,
    { ...merged, acknowledged: true },
  ],
  [
    'refuses a count above the profile of the world',
    row,
    { ...live, spec: { ...spec, count: 31 } },
    true,
    {
      ...merged,
      acknowledged: true,
      reasons: ['spec.count was put back: the world would have 31 bots, but its scaling profile allows 30.'],
    },
  ],
  [
    'pushes a row again if its resource is behind',
    { ...row, revision: 3 },
    live,
    false,
    { ...merged, pushAgain: true },
  ],
  ['does not push again while a push is pending', { ...row, revision: 3 }, live, true, merged],
  [
    'grants a resource without a grant its bots',
    row,
    { ...live, spec: ungranted },
    false,
    { ...merged, pushAgain: true },
  ],
  [
    'grants a resource that replaces another one its own bots',
    row,
    { ...live, metadata: { ...live.metadata, uid: 'other' } },
    false,
    { ...merged, pushAgain: true },
  ],
  [
    'neither adopts nor names a grant that others changed',
    row,
    { ...live, spec: { ...spec, granted: { ...granted, count: 9, cpu: '9', args: ['--own'] } } },
    false,
    { ...merged, pushAgain: true },
  ],
  ['writes a status to the row', row, seen, false, { ...merged, state: { observed: running } }],
  ['does not write a status that the row has already', { ...row, ...running }, seen, false, merged],
])('%s', (_, known, resource, dirty, verdict, owns) => {
  const facts = {
    otherBots: 0,
    profile: scalingProfiles.Capacity30,
    otherUse: noBotUse,
    limits: { maxBotCpu: Infinity, maxBotMemory: Infinity },
  }
  expect(decideBots(known, { ...readBots(resource), owns }, dirty, { facts })).toEqual(verdict)
})

test.each<[string, object, object, string | undefined]>([
  ['a size within the profile and the total', {}, { cpu: '0.3', memory: '1Gi' }, undefined],
  ['a cpu above the profile', {}, { cpu: '1001m' }, 'put back: the cpu 1001m of a bot exceeds'],
  ['a memory above the profile', {}, { memory: '5Gi' }, 'the memory 5Gi of a bot exceeds'],
  ['a count above maxBotCpu', {}, { count: 11 }, 'a cpu of 2.1 cores together. The limit is 2 (maxBotCpu)'],
  ['a cpu above maxBotCpu', {}, { cpu: '350m' }, 'a cpu of 2.05 cores together. The limit is 2 (maxBotCpu)'],
  ['a count and a cpu that exceed maxBotCpu together', {}, { count: 5, cpu: '0.3' }, 'spec.cpu was put back'],
  ['a memory above maxBotMemory', {}, { memory: '3Gi' }, '(maxBotMemory)'],
  ['a lower count above a lowered limit', { count: 20 }, { count: 19 }, undefined],
  ['a lower cpu above the profile and a lowered limit', { cpu: '4' }, { cpu: '2' }, undefined],
])('edits of %s are adopted only within the limits', (_, before, edit, refusal) => {
  const known = { ...row, ...before, applied: { ...spec, ...before } }
  const resource = { ...live, spec: { ...spec, ...before, ...edit } }
  const limits = { maxBotCpu: 2, maxBotMemory: 8 * 2 ** 30 }
  const facts = { otherBots: 0, profile: scalingProfiles.Capacity30, otherUse: { millicores: 1_000, bytes: 0 }, limits }
  const reasons = refusal === undefined ? [] : [expect.stringContaining(refusal)]
  expect(decideBots(known, readBots(resource), false, { facts })).toMatchObject({ reasons })
})

test.each<[string, object, object]>([
  ['an adopted edit', { count: 5, cpu: '0.3', args: ['--dance'] }, { count: 5, cpu: '0.3', args: ['--dance'] }],
  ['the count without a refused cpu', { count: 5, cpu: '1001m' }, { count: 5 }],
  ['nothing of a refused count', { count: 31 }, {}],
  ['nothing of a refused memory', { memory: '5Gi' }, {}],
])('the next push grants %s', (_, edit, grants) => {
  const facts = {
    otherBots: 0,
    profile: scalingProfiles.Capacity30,
    otherUse: noBotUse,
    limits: { maxBotCpu: Infinity, maxBotMemory: Infinity },
  }
  const verdict = decideBots(row, readBots({ ...live, spec: { ...spec, ...edit } }), false, { facts })
  const adopted = verdict.is === 'merged' ? verdict.edit : undefined
  expect(desiredBotSpec({ ...row, ...(adopted && toBotColumns(adopted)) }).granted).toEqual({ ...granted, ...grants })
})

test('a row whose resource is not known yet grants nothing', () => {
  expect(desiredBotSpec({ ...row, resourceUid: null }).granted).toBeUndefined()
})
