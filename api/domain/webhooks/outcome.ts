import { retryDelayMs } from '#api/platform/webhooks/retry.ts'
import type { SendResult } from '#api/platform/webhooks/send.ts'
import type { AttemptColumns, ClaimedDelivery, HealthColumns } from './queue.ts'
import type { attemptFailures } from './table.ts'

type Failure = (typeof attemptFailures)[number]

/** The rules for failed attempts. */
export type FailureRules = {
  /** The number of attempts after which a delivery fails. */
  readonly maxAttempts: number
  /** The time without a success after which a webhook is deactivated. */
  readonly disableAfterMs: number
}

/** The status with which a receiver says that it wants no more messages (RFC 9110, section 15.5.11). */
const gone = 410

/** Returns the columns that record an attempt and its effect on the webhook. `random` is from 0 to 1. */
export const outcomeOf = (
  { delivery, webhook }: ClaimedDelivery,
  result: SendResult,
  { nowMs, random, maxAttempts, disableAfterMs }: FailureRules & { nowMs: number; random: number },
): { attempt: AttemptColumns; health: HealthColumns | undefined } => {
  const now = new Date(nowMs)
  const statusCode = 'statusCode' in result ? result.statusCode : null
  const failure = failureOf(result)
  const common = { lastAttemptAt: now, statusCode, failure }
  if (failure === null) {
    return {
      attempt: { ...common, status: 'Delivered', nextAttemptAt: now },
      health: webhook.failingSince === null ? undefined : { failingSince: null },
    }
  }
  const failingSince = webhook.failingSince ?? now
  const disabledReason =
    statusCode === gone ? 'Gone' : nowMs - failingSince.getTime() >= disableAfterMs ? 'Failing' : undefined
  return {
    attempt: {
      ...common,
      status: delivery.attempts >= maxAttempts ? 'Failed' : 'Pending',
      nextAttemptAt: new Date(nowMs + retryDelayMs(delivery.attempts, random)),
    },
    health:
      disabledReason === undefined
        ? webhook.failingSince === null
          ? { failingSince }
          : undefined
        : { failingSince, isActive: false, disabledAt: now, disabledReason },
  }
}

const failureOf = (result: SendResult): Failure | null => {
  if ('failure' in result) return result.failure
  const { statusCode } = result
  if (statusCode >= 200 && statusCode < 300) return null
  return statusCode >= 300 && statusCode < 400 ? 'Redirect' : 'ErrorStatus'
}
