import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'

/** How many of its bots a deployment may run, beside the others of its world. */
export type Share = {
  readonly allowed: number
  /** Why that is less than it wants. */
  readonly excess?: string
}

/**
 * The deployment's share of what the world's scaling profile allows. The oldest come first, by creation and then by name,
 * so that it is always the youngest that have to do with less.
 */
export const shareOf = (bots: BotDeployment, all: readonly BotDeployment[], world: World | undefined): Share => {
  const { count } = bots.spec
  if (world === undefined) return { allowed: count }
  // The world keeps the profile of its run until the next one.
  const profile = (world.status?.phase === 'Active' && world.status.run?.profile) || world.spec.scaling.profile
  const { capacity } = scalingProfiles[profile]
  const others = all.filter((other) => other.metadata.uid !== bots.metadata.uid && isLive(other, world.status?.runId))
  const older = others.filter((other) => isOlder(other, bots))
  const allowed = Math.min(count, Math.max(0, capacity - sumOf(older)))
  if (allowed === count) return { allowed }
  const wanted = sumOf(others) + count
  return {
    allowed,
    excess:
      `${allowed} of ${count} bots may run: the world's scaling profile ${profile} allows ${capacity}, ` +
      `its deployments want ${wanted}, and this one is among the youngest`,
  }
}

/** Whether a deployment still has bots in the run, or may come to have some: not so once they are over for that run. */
const isLive = ({ metadata, status }: BotDeployment, runId: string | undefined): boolean => {
  if (metadata.deletionTimestamp !== undefined) return false
  const isOver = status?.phase === 'Stopped' || status?.phase === 'Error'
  return !isOver || runId === undefined || status.run?.id !== runId
}

const isOlder = (a: BotDeployment, b: BotDeployment): boolean => ageKey(a) < ageKey(b)

const ageKey = ({ metadata }: BotDeployment): string => `${metadata.creationTimestamp ?? ''}/${metadata.name}`

const sumOf = (all: readonly BotDeployment[]): number => all.reduce((sum, { spec }) => sum + spec.count, 0)
