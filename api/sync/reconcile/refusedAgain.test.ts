import { isDeepStrictEqual } from 'node:util'
import { expect, test } from 'vitest'
import type { BotRow } from '#api/domain/bots/table.ts'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { Refusal, WorldRow } from '#api/domain/worlds/table.ts'
import { limitPutBacks, refusalColumn, type Verdict } from '#api/sync/merge/observe.ts'
import { decideBots, decideWorld, freeFacts } from '#api/sync/merge/testing/facts.ts'
import { desiredBotSpec, desiredSpec } from '#api/sync/rows/desired.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { plainSettings } from '#shared/domain/world.ts'
import { createIdSource } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { botDeploymentSpecSchema, readBots } from '#shared/resources/botDeployment.ts'
import { readWorld, worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { findSyncedChange, shownAs, type WithStatus } from './syncedCondition.ts'

type Row = { readonly revision: number; readonly refusal: Refusal | null; readonly pushRefusal: string | null }
type Spec = { readonly revision?: number }
type Applied<R extends Row, S extends Spec> = {
  row: R
  spec: S
  /** The edit of the tool. */
  write: (spec: S) => S
  decide: (row: R, live: { apiVersion: string; metadata: ObjectMeta; spec: S }) => Verdict<unknown, unknown>
  desired: (row: R) => S
}

/** Writes an edit each second for a minute, and after each write lets the API decide, write the condition, and push. */
const applyEachSecond = <R extends Row, S extends Spec>({ row, spec, write, decide, desired }: Applied<R, S>) => {
  let now = row
  let live: WithStatus & { spec: S } = { apiVersion: 'v1', kind: 'Edited', metadata: { name: 'it', uid: 'uid' }, spec }
  let writes = 0
  const setSpec = (next: S): boolean => {
    if (isDeepStrictEqual(next, live.spec)) return false
    const generation = (live.metadata.generation ?? 0) + 1
    live = { ...live, metadata: { ...live.metadata, generation }, spec: next }
    return true
  }
  const react = (nowMs: number): boolean => {
    const generation = live.metadata.generation ?? 0
    const decided = decide(now, { apiVersion: live.apiVersion, metadata: live.metadata, spec: live.spec })
    if (decided.is !== 'merged') throw new Error(decided.is)
    const verdict = limitPutBacks(decided, { refusal: now.refusal, generation, nowMs })
    const at = { liveRevision: live.spec.revision ?? 0, revision: now.revision, generation, nowMs }
    now = { ...now, ...refusalColumn(now, verdict, at), ...(verdict.acknowledged ? { applied: live.spec } : {}) }
    const synced = findSyncedChange(live, shownAs(now))
    if (synced !== undefined) {
      live = { ...live, status: { conditions: [{ type: 'Synced', lastTransitionTime: '', ...synced }] } }
    }
    const isPushed = Boolean(verdict.acknowledged || verdict.pushAgain) && setSpec(desired(now))
    if (isPushed) now = { ...now, applied: live.spec }
    writes += Number(isPushed) + Number(synced !== undefined)
    return isPushed || synced !== undefined
  }
  for (let second = 0; second < 60; second += 1) {
    setSpec(write(live.spec))
    for (let round = 0; round < 10 && react(second * 1_000); round += 1);
  }
  return { writes, spec: live.spec, reason: live.status?.conditions?.[0]?.reason, row: now }
}

const newId = createIdSource({ now: () => 0 })
const scope = { organizationId: newId('organization'), projectId: newId('project'), cluster: 'default' }
const now = new Date(0)

test('a tool that writes a refused start each second for a minute ends in rest: nothing runs, after at most 20 writes', () => {
  const body = createWorldBody.parse({ name: 'Lobby', transient: false })
  const { world } = buildWorldRows(body, { ...scope, newId, now })
  const none = { program: {}, resolvedBuild: null, granted: null, runId: null, startedAt: null, startedWith: null }
  const status = {
    conditions: [],
    phase: 'Inactive',
    statusMessage: '',
    address: null,
    queueQueued: null,
    queueActive: null,
    restarts: 0,
  }
  const row = {
    ...plainSettings.parse({}),
    ...world,
    ...none,
    ...status,
    ...{
      description: null,
      pictureUrl: null,
      refusal: null,
      pushRefusal: null,
      waitsFor: null,
      revision: 2,
      runRevision: 2,
    },
    ...{ targetCluster: null, resourceUid: 'uid', deletingAt: null, removedAt: null, state: 'Stopped' },
  } as Partial<WorldRow> as WorldRow
  const spec = worldSpecSchema.parse(desiredSpec(row))
  const limits = { ...freeFacts.limits, maxWorldCapacity: 10 }
  const end = applyEachSecond({
    row: { ...row, applied: desiredSpec(row) },
    spec,
    write: (seen) => ({ ...seen, state: 'Running' as const }),
    decide: (at, live) =>
      decideWorld(at, readWorld({ ...live, kind: 'World' }), false, { facts: { ...freeFacts, limits } }),
    desired: (at) => worldSpecSchema.parse(desiredSpec(at)),
  })
  expect(end).toMatchObject({ reason: 'EditRefusedAgain', spec: { state: 'Running' }, row: { state: 'Stopped' } })
  expect(end.writes).toBeGreaterThan(3)
  expect(end.writes).toBeLessThanOrEqual(20)
})

test('a tool that scales bots above their limit each second for a minute ends in rest, after at most 20 writes', () => {
  const row = {
    ...{ id: newId('bot'), ...scope, worldId: newId('world'), worldName: 'w', resourceName: 'it', resourceUid: 'uid' },
    ...{ description: '', cpu: '100m', memory: '128Mi', args: [], durationMinutes: null, count: 3 },
    ...{ metadata: { annotations: {}, labels: {} } },
    ...{
      phase: 'Pending',
      statusMessage: '',
      conditions: [],
      startedAt: null,
      revision: 2,
      refusal: null,
      pushRefusal: null,
    },
    ...{ targetCluster: null, deletingAt: null, removedAt: null },
  } as Partial<BotRow> as BotRow
  const spec = botDeploymentSpecSchema.parse(desiredBotSpec(row))
  const limits = { maxBotCpu: 1_000, maxBotMemory: 2 ** 40 }
  const facts = { otherBots: 0, profile: scalingProfiles.Capacity10, otherUse: noBotUse, limits }
  const end = applyEachSecond({
    row: { ...row, applied: spec },
    spec,
    write: (seen) => ({ ...seen, count: 1_000 }),
    decide: (at, live) => decideBots(at, readBots({ ...live, kind: 'BotDeployment' }), false, { facts }),
    desired: (at) => botDeploymentSpecSchema.parse(desiredBotSpec(at)),
  })
  expect(end).toMatchObject({ reason: 'EditRefusedAgain', spec: { count: 1_000 }, row: { count: 3 } })
  expect(end.writes).toBeGreaterThan(3)
  expect(end.writes).toBeLessThanOrEqual(20)
})
