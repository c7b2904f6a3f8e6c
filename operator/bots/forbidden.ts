import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainBotSize } from '#shared/domain/bots.ts'
import { profileOf } from './limit.ts'
import type { PlanInput } from './step.ts'

/**
 * Returns why bots of this size are forbidden by the scaling profile of their world, or undefined if they are allowed. In the
 * namespace of an organization the API checks the size before it grants bots.
 */
export const explainForbidden = ({
  bots,
  world,
  policy,
  settings,
}: Pick<PlanInput, 'bots' | 'world' | 'policy' | 'settings'>): Diagnosis | undefined => {
  if (world === undefined || policy.organization !== undefined) return undefined
  const excess = explainBotSize(bots.spec, settings.profiles[profileOf(world)])
  return excess === undefined ? undefined : seriousDiagnosis('SizeNotAllowed', excess)
}
