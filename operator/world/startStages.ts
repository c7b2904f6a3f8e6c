import type { Pod } from '#operator/pods/pod.ts'
import { containerStatusOf } from '#operator/pods/podState.ts'
import { awaitsAnswer } from '#shared/domain/query.ts'
import type { WorldRun } from '#shared/resources/world.ts'

/** The stages of a start, in order: until the pod has a node, its container runs, it is Ready, and its address is known. */
export const startStages = ['schedule', 'container', 'ready', 'address'] as const
export type StartStage = (typeof startStages)[number]

/**
 * Returns the seconds that each stage of a start that is finished now took. The ends of the first three stages are times of the kubelet
 * and the scheduler, in whole seconds. A stage whose end is unknown is left out, and counts for the next one. If the server must answer
 * the operator first, the stage `ready` ends with that answer.
 */
export const stageSeconds = (
  run: Pick<WorldRun, 'startedAt' | 'probes' | 'query'>,
  pod: Pick<Pod, 'status'>,
  nowMs: number,
): { readonly stage: StartStage; readonly seconds: number }[] => {
  const conditionMs = (type: string): number =>
    Date.parse(
      pod.status?.conditions?.find((each) => each.type === type && each.status === 'True')?.lastTransitionTime ?? '',
    )
  const ends: Readonly<Record<StartStage, number>> = {
    schedule: conditionMs('PodScheduled'),
    container: Date.parse(containerStatusOf(pod, 'server')?.state?.running?.startedAt ?? ''),
    ready: awaitsAnswer(run) ? nowMs : conditionMs('Ready'),
    address: nowMs,
  }
  let beforeMs = Date.parse(run.startedAt)
  return startStages.flatMap((stage) => {
    const endMs = ends[stage]
    if (Number.isNaN(endMs)) return []
    const seconds = Math.max(0, (endMs - beforeMs) / 1_000)
    beforeMs = Math.max(beforeMs, endMs)
    return [{ stage, seconds }]
  })
}
