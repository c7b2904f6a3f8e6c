import { explainInvalidPolicy, explainUnconfirmedId } from '#operator/lifecycle/forbidden.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainBotSize } from '#shared/domain/bots.ts'
import { profileOf } from './limit.ts'
import type { PlanInput } from './step.ts'

/**
 * Returns why bots of this size are forbidden, or undefined if they are allowed: by the policy of the namespace, or by the
 * scaling profile of their world.
 */
export const explainForbidden = ({
  bots,
  world,
  policy,
  settings,
}: Pick<PlanInput, 'bots' | 'world' | 'policy' | 'settings'>): Diagnosis | undefined => {
  const excess = world && explainBotSize(bots.spec, settings.profiles[profileOf(world)])
  return (
    explainInvalidPolicy(policy) ??
    explainUnconfirmedId(bots, 'bot', policy) ??
    (excess === undefined ? undefined : seriousDiagnosis('SizeNotAllowed', excess))
  )
}
