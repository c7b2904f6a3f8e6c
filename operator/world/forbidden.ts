import { explainForbiddenImage, explainInvalidPolicy, explainUnconfirmedId } from '#operator/lifecycle/forbidden.ts'
import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import type { PlanInput } from './step.ts'

/**
 * Returns why the policy of the namespace forbids a pod of the run, or undefined if it allows one. The image is checked
 * for each pod. The size is checked only until a pod of the run was Ready or lost, so that lowering a limit does not prevent
 * the restart of a running world.
 */
export const explainForbidden = ({ world, policy, settings }: PlanInput, run: WorldRun): Diagnosis | undefined => {
  const { imageRegistries, defaultServerImage: ownImage } = settings
  return (
    explainInvalidPolicy(policy) ??
    explainUnconfirmedId(world, 'world', policy) ??
    explainForbiddenImage(run.image, policy, { imageRegistries, ownImage }) ??
    (hadReadyOrLostPod(run) ? undefined : explainForbiddenSize(run, { policy, settings }))
  )
}

const explainForbiddenSize = (
  { profile }: WorldRun,
  { policy: { limits }, settings }: Pick<PlanInput, 'policy' | 'settings'>,
): Diagnosis | undefined => {
  if (limits === undefined || settings.profiles[profile].capacity <= limits.maxWorldCapacity) return undefined
  return seriousDiagnosis(
    'SizeNotAllowed',
    `${profile} is larger than maxWorldCapacity of the organization, which is ${limits.maxWorldCapacity}. ` +
      'Choose a smaller scaling profile.',
  )
}

/** Reports whether the run had a pod that was Ready or was lost. */
const hadReadyOrLostPod = ({ readyAt, failedAt }: WorldRun): boolean => readyAt !== undefined || failedAt !== undefined
