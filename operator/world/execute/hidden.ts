import { readIfPresent } from '#operator/lifecycle/execute/objects.ts'
import type { Source } from '#operator/lifecycle/execute/status.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service } from '#operator/pods/service.ts'
import { withDefined } from '#shared/optional.ts'
import { findDoubts } from '../absence.ts'
import type { Plan, PlanInput } from '../step.ts'

/** Objects that the API server has and the caches may not show. */
export type Found = {
  readonly pod?: Pod | undefined
  readonly service?: Service | undefined
  readonly route?: PlanInput['route']
}

/** Reads the objects whose absence the plan must confirm. Returns pod and Service with what it read, or undefined if it found none. */
export const readHidden = async (
  { pods, services }: { readonly pods: Source<Pod>; readonly services: Source<Service> },
  input: PlanInput,
  planned: Plan,
  signal: AbortSignal,
): Promise<Found | undefined> => {
  const { name, namespace } = input.world.metadata
  const ref = withDefined({ name, namespace })
  const doubts = findDoubts(input, planned)
  const pod = doubts.pod ? await readIfPresent(pods.client, ref, signal) : undefined
  const service = doubts.service ? await readIfPresent(services.client, ref, signal) : undefined
  if (pod === undefined && service === undefined) return undefined
  return { pod: pod === undefined ? input.pod : pickCachedFields(pod), service: service ?? input.service }
}
