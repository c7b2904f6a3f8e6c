import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Deps } from '#api/domain/access/context.ts'
import { shareAnswer } from '#api/platform/http/readiness.ts'
import { type AttemptColumns, countPending, type HealthColumns, readOldestDueSeconds } from './queue.ts'

/** Records attempts in the metrics. */
export type WebhookMetrics = {
  /** Records an attempt that took so many seconds. */
  readonly observe: (outcome: { attempt: AttemptColumns; health: HealthColumns | undefined }, seconds: number) => void
}

const buckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
/** The highest value of the gauge. Counting more rows would take too long. */
const mostPending = 10_000
/** The longest age of the count. */
const pendingFreshMs = 10_000

/** Registers the metrics of webhooks. Their labels have few values and no ids. */
export const registerWebhookMetrics = (
  options: Pick<Deps, 'db' | 'clock'> & { registry: Registry },
): WebhookMetrics => {
  const { db, clock, registry } = options
  const registers = [registry]
  const attempts = new Counter({
    name: 'orrery_webhook_attempts_total',
    help: 'Attempts to deliver a message to a webhook, by result.',
    labelNames: ['result'],
    registers,
  })
  const duration = new Histogram({
    name: 'orrery_webhook_attempt_seconds',
    help: 'The time of an attempt to deliver a message to a webhook.',
    buckets,
    registers,
  })
  const disabled = new Counter({
    name: 'orrery_webhooks_disabled_total',
    help: 'Webhooks that were deactivated after failed attempts, by reason.',
    labelNames: ['reason'],
    registers,
  })
  const pending = shareAnswer(clock, pendingFreshMs, () => countPending(db, mostPending).catch(() => Number.NaN))
  new Gauge({
    name: 'orrery_webhook_pending_deliveries',
    help: `Pending deliveries of active webhooks, at most ${mostPending}.`,
    registers,
    async collect() {
      this.set(await pending())
    },
  })
  const oldest = shareAnswer(clock, pendingFreshMs, () => readOldestDueSeconds(db, clock.now()).catch(() => Number.NaN))
  new Gauge({
    name: 'orrery_webhook_oldest_due_seconds',
    help: 'The time for which the oldest due delivery of an active webhook has waited for its attempt.',
    registers,
    async collect() {
      this.set(await oldest())
    },
  })
  return {
    observe: ({ attempt: { failure }, health }, seconds) => {
      attempts.inc({ result: failure ?? 'Delivered' })
      duration.observe(seconds)
      if (health !== undefined && 'disabledReason' in health) disabled.inc({ reason: health.disabledReason })
    },
  }
}
