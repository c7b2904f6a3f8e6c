import { describe, expect, test } from 'vitest'
import { type BotUse, noBotUse, sumBotUse } from '#shared/domain/botUse.ts'
import { maxUse } from '#shared/domain/use.ts'
import { fc } from '#test/support/fastCheck.ts'
import { aBot } from './fixtures.ts'
import { createBotUses, useOfBotPod } from './use.ts'

const use = (millicores: number): BotUse => ({ millicores, bytes: millicores * 10 })
const withLimits = (limits: Record<string, string>) => ({
  ...aBot(0),
  spec: { containers: [{ name: 'bot', resources: { limits } }] },
})

test.each([
  ['as its limits', aBot(0), { millicores: 100, bytes: 128 * 2 ** 20 }],
  [
    'as the API server writes them',
    withLimits({ cpu: '1500m', memory: '1073741824' }),
    { millicores: 1_500, bytes: 2 ** 30 },
  ],
  ['as nothing if they are no numbers', withLimits({ cpu: 'x', memory: '1Gi' }), noBotUse],
])('the pod of a bot counts %s', (_, pod, expected) => expect(useOfBotPod(pod)).toEqual(expected))

describe('the use of the bots of a namespace', () => {
  test('is the reservation of a bot deployment until its pods exceed it, in its namespace only', () => {
    const uses = createBotUses()
    uses.reserve('a/one', use(300))
    expect(uses.of('a/two')).toEqual({ own: noBotUse, others: use(300) })
    uses.setPod('a/one-0', 'a/one', use(100))
    expect(uses.of('a/two').others).toEqual(use(300))
    expect(uses.of('a/one')).toEqual({ own: use(100), others: noBotUse })
    uses.reserve('a/one', noBotUse)
    expect(uses.of('a/two').others).toEqual(use(100))
    uses.setPod('a/one-0', 'a/one', noBotUse)
    expect([uses.of('a/two').others, uses.of('b/two').others]).toEqual([noBotUse, noBotUse])
  })

  test('equals the sum of the bot deployments after any changes', () => {
    const deployment = fc.constantFrom('a/one', 'a/two', 'b/one')
    const amount = fc.constantFrom(noBotUse, use(10), { millicores: 5, bytes: 500 })
    const change = fc.record({ deployment, pod: fc.option(fc.nat({ max: 2 }), { nil: undefined }), amount })
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const uses = createBotUses()
        const [pods, reservations] = [new Map<string, BotUse>(), new Map<string, BotUse>()]
        for (const { deployment: key, pod, amount: value } of changes) {
          if (pod === undefined) {
            uses.reserve(key, value)
            reservations.set(key, value)
          } else {
            uses.setPod(`${key}-${pod}`, key, value)
            pods.set(`${key}-${pod}`, value)
          }
        }
        const podsOf = (key: string) =>
          sumBotUse([...pods].filter(([name]) => name.startsWith(`${key}-`)).map(([, value]) => value))
        const countedOf = (key: string) => maxUse(podsOf(key), reservations.get(key) ?? noBotUse)
        expect(uses.of('a/one')).toEqual({ own: podsOf('a/one'), others: countedOf('a/two') })
        expect(uses.of('a/other')).toEqual({
          own: noBotUse,
          others: sumBotUse([countedOf('a/one'), countedOf('a/two')]),
        })
      }),
    )
  })
})
