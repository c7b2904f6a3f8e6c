import type { Deps } from '#api/domain/access/context.ts'
import type { Send } from '#api/platform/webhooks/send.ts'
import { runQueue } from '#api/platform/webhooks/worker.ts'
import { toRequest } from './message.ts'
import type { WebhookMetrics } from './metrics.ts'
import { type FailureRules, outcomeOf } from './outcome.ts'
import { type ClaimedDelivery, claimDeliveries, settleDelivery } from './queue.ts'

/** The settings of the delivery. */
export type DeliveryOptions = FailureRules & {
  /** The time limit of an attempt. */
  readonly timeoutMs: number
  readonly concurrency: { readonly perReplica: number; readonly perOrganization: number; readonly perWebhook: number }
}

type DeliveryDeps = Pick<Deps, 'db' | 'sealer' | 'clock' | 'newId' | 'log'> & {
  readonly send: Send
  readonly random: () => number
  readonly metrics: WebhookMetrics
}

/** The interval at which an idle replica looks for due deliveries. */
const pollMs = 500
/** The time beyond the time limit of an attempt in which its end is recorded. */
const settleMs = 5_000

/** Delivers messages to webhooks until the signal aborts, and then ends the attempts under way. Every replica may run it. */
export const deliverWebhooks = (deps: DeliveryDeps, options: DeliveryOptions, signal: AbortSignal): Promise<void> => {
  const { db, clock, log } = deps
  const { perReplica, ...perOwner } = options.concurrency
  const leaseMs = options.timeoutMs + settleMs
  const reserve = Math.floor(perReplica / 4)
  let after = ''
  return runQueue<ClaimedDelivery>(
    {
      claim: async (limit) => {
        const claimed = await claimDeliveries(db, { limit, reserve, after, leaseMs, nowMs: clock.now(), ...perOwner })
        after = claimed.at(-1)?.webhook.organizationId ?? after
        return claimed
      },
      work: (claimed) => attempt(deps, options, claimed),
    },
    { concurrency: perReplica, leaseMs, pollMs, clock, log, signal },
  )
}

const attempt = async (
  { db, sealer, clock, newId, log, send, random, metrics }: DeliveryDeps,
  rules: FailureRules,
  claimed: ClaimedDelivery,
): Promise<void> => {
  const startedMs = clock.monotonic()
  const result = await send(toRequest(claimed, { sealer, nowMs: clock.now() }))
  const outcome = outcomeOf(claimed, result, { ...rules, nowMs: clock.now(), random: random() })
  metrics.observe(outcome, (clock.monotonic() - startedMs) / 1_000)
  await settleDelivery({ db, newId }, claimed, outcome)
  if (outcome.health === undefined || !('disabledReason' in outcome.health)) return
  const { id, organizationId } = claimed.webhook
  log.warn({ webhookId: id, organizationId, reason: outcome.health.disabledReason }, 'webhook was deactivated')
}
