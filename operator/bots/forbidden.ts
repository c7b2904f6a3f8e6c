import { explainInvalidPolicy, explainUnconfirmedId } from '#operator/lifecycle/forbidden.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainBotSize } from '#shared/domain/bots.ts'
import type { PlanInput } from './step.ts'

/** Returns why the policy of the namespace forbids bots of this size, or undefined if it allows them. */
export const explainForbidden = ({ bots, policy }: Pick<PlanInput, 'bots' | 'policy'>): Diagnosis | undefined => {
  const excess = policy.limits && explainBotSize(bots.spec, policy.limits)
  return (
    explainInvalidPolicy(policy) ??
    explainUnconfirmedId(bots, 'bot', policy) ??
    (excess === undefined ? undefined : seriousDiagnosis('SizeNotAllowed', excess))
  )
}
