import { hasEnded } from '#shared/domain/phases.ts'
import { hasService } from '#shared/domain/ports.ts'
import type { WorldStatus } from '#shared/resources/world.ts'
import type { Plan, PlanInput } from './step.ts'

/** The objects that a plan takes for absent, and that may exist. */
export type Doubts = { readonly pod: boolean; readonly service: boolean }

/**
 * Returns which objects must be read by name before the plan is executed. The caches hold only objects with the product's labels,
 * which others can remove. So an absence is confirmed once when the end of a run is recorded, and before an object is created that
 * the status shows. A world whose end is on record is not read again.
 */
export const findDoubts = (
  { world, pod, service }: Pick<PlanInput, 'world' | 'pod' | 'service'>,
  { steps, status }: Plan,
): Doubts => {
  const before = world.status
  const ends = isOver(status) && !(isOver(before) && before?.deployment?.id === status.deployment?.id)
  const creates = (verb: 'createPod' | 'createService'): boolean => steps.some((step) => step.verb === verb)
  const usesService = status.run !== undefined && hasService(status.run.strategy)
  return {
    pod: pod === undefined && (ends || (creates('createPod') && showsPod(before))),
    service:
      service === undefined && ((ends && usesService) || (creates('createService') && before?.address !== undefined)),
  }
}

const isOver = (status: WorldStatus | undefined): boolean =>
  status?.deployment !== undefined && hasEnded(status.deployment)

/** Reports whether the status shows a pod that the operator did not count as lost. The operator deletes a lost one. */
const showsPod = ({ deployment, run }: WorldStatus = {}): boolean =>
  deployment !== undefined && !hasEnded(deployment) && !['', run?.countedPodUid].includes(deployment.externalId)
