import { haveBotsEnded, isJoinable } from '#shared/domain/phases.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import { type ScalingProfileName, scalingProfiles } from '#shared/scalingProfiles.ts'
import { permitOf, takenBy } from './granted.ts'
import type { PlanInput } from './step.ts'

/** Returns the scaling profile that bounds the bots of a world. An Active world keeps the profile of its run. */
export const profileOf = ({ spec, status }: World): ScalingProfileName =>
  (isJoinable(status ?? {}) && status?.run?.profile) || spec.scaling.profile

/** The number of bots that a bot deployment may run, given the other bot deployments of its world. */
export type Share = {
  readonly allowed: number
  /** The reason if that is less than the count. */
  readonly excess?: string
}

/**
 * Returns the share of a bot deployment in the bots that the world's scaling profile allows. Older bot deployments come
 * first, by creation and then by name, so that the youngest run fewer.
 */
export const shareOf = ({
  bots,
  siblings,
  world,
  policy,
}: Pick<PlanInput, 'bots' | 'siblings' | 'world' | 'policy'>): Share => {
  const { count } = permitOf(bots, policy)
  if (world === undefined) return { allowed: count }
  const profile = profileOf(world)
  const { capacity } = scalingProfiles[profile]
  const sumCounts = (all: readonly BotDeployment[]) => all.reduce((sum, each) => sum + takenBy(each, policy), 0)
  const others = siblings.filter(
    (other) => other.metadata.uid !== bots.metadata.uid && mayRun(other, world.status?.runId),
  )
  const older = others.filter((other) => ageKey(other) < ageKey(bots))
  const allowed = Math.min(count, Math.max(0, capacity - sumCounts(older)))
  if (allowed === count) return { allowed }
  const wanted = sumCounts(others) + count
  return {
    allowed,
    excess:
      `${allowed} of ${count} bots may run: the scaling profile ${profile} of the world allows ${capacity}, and its ` +
      `bot deployments want ${wanted}. Older bot deployments come first.`,
  }
}

/** Reports whether a bot deployment has or may get bots in the run. One that has ended in that run does not. */
const mayRun = ({ metadata, status }: BotDeployment, runId: string | undefined): boolean => {
  if (metadata.deletionTimestamp !== undefined) return false
  return !haveBotsEnded(status ?? {}) || runId === undefined || status?.run?.id !== runId
}

const ageKey = ({ metadata }: BotDeployment): string => `${metadata.creationTimestamp ?? ''}/${metadata.name}`
