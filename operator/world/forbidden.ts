import { explainForbiddenImage, explainInvalidPolicy, explainUnconfirmedId } from '#operator/lifecycle/forbidden.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainRunLimit, useOfRun } from '#shared/domain/runUse.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import type { PlanInput } from './step.ts'

/**
 * Returns why the policy of the namespace forbids a pod of the run, or undefined if it allows one. The image is checked
 * for each pod. Size and networking strategy are checked only until a pod of the run was Ready or lost, so that lowering a
 * limit does not prevent the restart of a running world.
 */
export const explainForbidden = (
  { world, policy, settings, others }: PlanInput,
  run: WorldRun,
): Diagnosis | undefined => {
  const { imageRegistries, defaultServerImage: ownImage } = settings
  return (
    explainInvalidPolicy(policy) ??
    explainUnconfirmedId(world, 'world', policy) ??
    explainForbiddenImage(run.image, policy, { imageRegistries, ownImage }) ??
    (hadReadyOrLostPod(run) ? undefined : explainForbiddenUse(run, { policy, settings, others }))
  )
}

const explainForbiddenUse = (
  { profile, strategy }: WorldRun,
  { policy: { limits }, settings, others }: Pick<PlanInput, 'policy' | 'settings' | 'others'>,
): Diagnosis | undefined => {
  if (limits === undefined) return undefined
  const { capacity } = settings.profiles[profile]
  if (capacity > limits.maxWorldCapacity) {
    return seriousDiagnosis(
      'SizeNotAllowed',
      `${profile} is larger than maxWorldCapacity of the organization, which is ${limits.maxWorldCapacity}. ` +
        'Choose a smaller scaling profile.',
    )
  }
  const refusal = explainRunLimit(useOfRun(capacity, strategy), others, limits)
  return refusal === undefined ? undefined : seriousDiagnosis('LimitReached', refusal)
}

/** Reports whether a run had a pod that was Ready or was lost. */
export const hadReadyOrLostPod = ({ readyAt, failedAt }: WorldRun): boolean =>
  readyAt !== undefined || failedAt !== undefined
