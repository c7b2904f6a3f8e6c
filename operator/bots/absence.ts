import { doBotsWait, haveBotsEnded } from '#shared/domain/phases.ts'
import type { BotDeploymentStatus } from '#shared/resources/botDeployment.ts'
import type { Plan, PlanInput } from './step.ts'

/**
 * Reports whether the pods of the namespace must be read before the plan is executed. The cache holds only pods with the product's
 * labels, which others can remove. So the absence of all bots is confirmed once, before the status says that none is left.
 */
export const isAbsenceDoubted = ({ bots }: Pick<PlanInput, 'bots'>, { status }: Plan): boolean =>
  bots.status !== undefined && hasNoBots(status) && !hasNoBots(bots.status)

/** Reports whether a status says that no bot is left or expected. */
const hasNoBots = (status: BotDeploymentStatus): boolean =>
  (status.replicas ?? 0) === 0 && (status.phase === 'Running' || doBotsWait(status) || haveBotsEnded(status))
