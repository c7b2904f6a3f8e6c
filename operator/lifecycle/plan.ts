import { withDefined } from '#shared/optional.ts'
import type { Verdict } from './conditions.ts'

/** The result of planning: what to do, the status to write, and when to plan again if nothing changes before. */
export type PlanOf<Step, Status> = {
  readonly steps: readonly Step[]
  readonly status: Status
  /** The original text of the kubelet, a registry or the API server, for the event and the log. */
  readonly detail?: string
  readonly requeueAfterMs?: number
}

/** The steps of a plan, and when to plan again. */
export type Actions<Step> = { readonly steps?: readonly Step[]; readonly requeueAfterMs?: number }

/** Returns a plan with this status. The detail is that of the outcome. */
export const buildPlan = <Step, Status>(
  status: Status,
  { trouble }: Verdict,
  { steps = [], requeueAfterMs }: Actions<Step> = {},
): PlanOf<Step, Status> => ({ steps, status, ...withDefined({ detail: trouble?.detail, requeueAfterMs }) })

/** A case of a plan. Returns the plan if it applies, otherwise undefined. */
export type Case<Input, Plan> = (input: Input) => Plan | undefined

/** Returns the plan of the first case that applies. Throws if none does, so the last case of a list always applies. */
export const planFirst = <Input, Plan>(cases: readonly Case<Input, Plan>[], input: Input): Plan => {
  for (const planCase of cases) {
    const plan = planCase(input)
    if (plan !== undefined) return plan
  }
  throw new Error('No case of the plan applies.')
}

/** Returns the shortest of these delays as the requeue of a plan, at least 0; an empty object if none is finite. */
export const requeueAfter = (...waitsMs: readonly (number | undefined)[]): { requeueAfterMs?: number } => {
  const earliestMs = Math.min(...waitsMs.map((wait) => wait ?? Number.POSITIVE_INFINITY))
  return Number.isFinite(earliestMs) ? { requeueAfterMs: Math.max(0, earliestMs) } : {}
}
