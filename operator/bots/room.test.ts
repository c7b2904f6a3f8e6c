import { describe, expect, test } from 'vitest'
import { findCondition } from '#operator/lifecycle/events.ts'
import { exitStatus, runA } from '#operator/testing/fixtures.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { aBot, createdIndexes, deletedIndexes, planFor, readyBots, someBots, startedIn } from './fixtures.ts'

const policyOf = (limits: object) => ({ limits: { maxWorldCapacity: 10, maxRunningCapacity: 10, ...limits } })
const mebibyte = 2 ** 20

describe('the limits of all bots of an organization', () => {
  const bots = someBots(5, startedIn(runA))

  test.each([
    ['no limits', {}, noBotUse, 5, undefined],
    ['room for all', { maxBotCpu: 0.5, maxBotMemory: 640 * mebibyte }, noBotUse, 5, undefined],
    ['cpu for three', { maxBotCpu: 0.399 }, noBotUse, 3, 'MaxBotCpu'],
    ['cpu for three beside others', { maxBotCpu: 1 }, { millicores: 700, bytes: 0 }, 3, 'MaxBotCpu'],
    ['memory for three', { maxBotMemory: 511 * mebibyte }, noBotUse, 3, 'MaxBotMemory'],
    [
      'no room, since others are above a lowered limit',
      { maxBotCpu: 1 },
      { millicores: 1_500, bytes: 0 },
      0,
      'MaxBotCpu',
    ],
    ['a limit of 0', { maxBotCpu: 0 }, noBotUse, 0, 'MaxBotCpu'],
  ])('%s: the lowest bots are created within them', (_, limits, others, created, reason) => {
    const planned = planFor({ bots, policy: policyOf(limits), use: { own: noBotUse, others } })
    expect(createdIndexes(planned)).toEqual([0, 1, 2, 3, 4].slice(0, created))
    expect(findCondition(planned.status, 'LimitExceeded')).toMatchObject(
      reason === undefined ? { status: 'False' } : { status: 'True', reason },
    )
    expect(planned.requeueAfterMs).toBe(reason === undefined ? undefined : 15_000)
  })

  test('exceeded make Ready False and name the limit, while the bots that may run are Running', () => {
    const { status } = planFor({ bots, pods: readyBots(3), policy: policyOf({ maxBotCpu: 0.3 }) })
    expect(status).toMatchObject({ phase: 'Running', ready: 3 })
    expect(status.message).toBe(
      '2 of 5 bots cannot run: all bots of the organization may have a cpu of 0.3 cores (maxBotCpu) together. ' +
        'Lower the count or the size of the bots, or delete other bots.',
    )
    expect(findCondition(status, 'Ready')).toMatchObject({ status: 'False', reason: 'MaxBotCpu' })
  })

  test('lowered keep the bots that exist, do not replace one that ends, and let the count be lowered', () => {
    const policy = policyOf({ maxBotCpu: 0.1 })
    const pods = [...readyBots(4), aBot(4, { status: exitStatus(3) })]
    expect(deletedIndexes(planFor({ bots, pods: readyBots(5), policy }))).toEqual([])
    expect(createdIndexes(planFor({ bots, pods: readyBots(4), policy }))).toEqual([])
    expect(deletedIndexes(planFor({ bots: someBots(2, startedIn(runA)), pods, policy }))).toEqual([2, 3, 4])
  })

  test('without any room leave bots Pending, and neither run nor duration begins', () => {
    const { status } = planFor({ bots: someBots(5), policy: policyOf({ maxBotMemory: 0 }) })
    expect(status).toMatchObject({ phase: 'Pending', ready: 0 })
    expect([status.run, status.startedAt]).toEqual([undefined, undefined])
    expect(findCondition(status, 'Ready')).toMatchObject({ status: 'False', reason: 'MaxBotMemory' })
  })

  test('are reserved for the bots that exist, start or wait for their restart', () => {
    const after = new Date(Date.UTC(2030, 0)).toISOString()
    const waiting = someBots(5, startedIn(runA, { restarting: [{ indexes: '0-1', restarts: 1, after }] }))
    const input = { bots: waiting, pods: [aBot(2)], policy: policyOf({ maxBotCpu: 0.4 }) }
    expect(createdIndexes(planFor(input))).toEqual([3])
    expect(planFor(input).reserved).toEqual({ millicores: 400, bytes: 4 * 128 * mebibyte })
  })
})
