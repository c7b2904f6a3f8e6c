import { isConflict, isNotFound, KubeError } from '#shared/kube/errors.ts'
import type { Simulator } from '#test/crash/simulator.ts'
import type { PlayerServers } from '#test/support/playerServers.ts'
import type { Answer, createRest } from '#test/support/rest.ts'
import type { Containers } from './containers.ts'

/** The expected end of a world or of bots. `either` is for those whose request got no answer, or whose fate is not decided. */
export type Expectation = 'exists' | 'gone' | 'either'

/** A world of the model, by its id. */
export type ModelWorld = {
  expected: Expectation
  readonly resourceName: string
  /** The finalizer of the API was removed, so a deletion with kubectl may be a loss, which the API repairs. */
  hasLostFinalizer?: true
}

/** Bots of the model, by their id. They end with their world. */
export type ModelBots = { expected: Expectation; readonly resourceName: string; readonly worldId: string }

/** The created resources, with their expected ends. */
export type Model = {
  readonly worlds: Map<string, ModelWorld>
  readonly bots: Map<string, ModelBots>
  /** The number of times that the schedule of each world was made due, by the id of the world. */
  readonly dues: Map<string, number>
  /**
   * A namespace or definition is being deleted, or the database or the cluster is being restored. What is created or deleted
   * with kubectl meanwhile may end either way.
   */
  isUndecided: boolean
  /** The database or the cluster was restored, so an administrator has to resolve the differences. */
  wasRestored: boolean
}

/** A client of the REST API. */
export type Rest = ReturnType<typeof createRest>
type Process = 'api' | 'operator'

/** The system under test, with its faults. Each fault ends by itself, and the next one starts after it. */
export type System = {
  /** The number of replicas of the API and of the operator. Each fault is that of one of them. */
  readonly replicas: number
  /** REST in the project of the sequence, and in its whole organization. */
  readonly rest: Rest
  readonly organization: Rest
  /** REST in the project with the token of a user who may check the access of others. */
  readonly user: Rest
  readonly simulator: Simulator
  readonly servers: PlayerServers
  readonly namespace: string
  readonly elsewhere: string
  readonly containers: Containers
  /** Makes the schedule of a world due. Reports whether it has one. */
  readonly makeDue: (worldId: string) => Promise<boolean>
  /** Creates a backup of the database. Returns the restore, which kills the API and starts another one. */
  readonly backUp: () => Promise<() => Promise<void>>
  /** Creates a backup of the cluster. Returns the restore, which kills both processes and starts others. */
  readonly backUpCluster: () => Promise<() => Promise<void>>
  readonly kill: (which: Process) => Promise<void>
  /** Stops a process in order and starts it again. */
  readonly replace: (which: Process) => Promise<void>
  readonly suspend: (which: Process, ms: number) => Promise<void>
  readonly cut: (which: 'database' | 'cluster', ms: number) => Promise<void>
}

/** The state of a sequence that its actions share. */
export type Step = { readonly system: System; readonly model: Model; readonly random: () => number }

/** An action of a sequence. It is chosen as often as its weight says. */
export type Action = {
  readonly name: string
  readonly weight: number
  readonly act: (step: Step) => Promise<void>
  /** The action is a fault, during which the sequence goes on. */
  readonly isFault?: true
}

/** Picks a random item, or undefined if there is none. */
export const pick = <T>(items: readonly T[], random: () => number): T | undefined =>
  items[Math.floor(random() * items.length)]

/** Sends a request. Undefined means that no answer says whether it took effect. */
export const ask = async <T = { worldId?: string }>(
  rest: Rest,
  method: string,
  path: string,
  body?: object,
): Promise<Answer<T> | undefined> => {
  try {
    const answer = await rest.call<T>(method, path, body)
    return answer.status >= 500 ? undefined : answer
  } catch {
    return undefined
  }
}

/** Runs a change with kubectl. Returns false if the object no longer exists, undefined if the answer is not known. */
export const change = async (act: () => Promise<unknown>): Promise<boolean | undefined> => {
  try {
    await act()
    return true
  } catch (error) {
    if (isNotFound(error)) return false
    if (isConflict(error) || (error instanceof KubeError && error.status === 403)) return false
    return undefined
  }
}

/** Acts on a random world that exists. */
export const onWorld =
  (act: (step: Step, id: string, world: ModelWorld) => Promise<unknown>): Action['act'] =>
  async (step) => {
    const existing = [...step.model.worlds].filter(([, { expected }]) => expected === 'exists')
    const picked = pick(existing, step.random)
    if (picked !== undefined) await act(step, ...picked)
  }

/** Makes the schedule of a world due. False if it has none, undefined if the database is away. */
export const makeDue = async (
  { system, model: { dues } }: Pick<Step, 'system' | 'model'>,
  worldId: string,
): Promise<boolean | undefined> => {
  const isDue = await system.makeDue(worldId).catch(() => undefined)
  // It may have become due before the answer was lost.
  if (isDue !== false) dues.set(worldId, (dues.get(worldId) ?? 0) + 1)
  return isDue
}

/** Acts on random bots that exist, of a world that exists. */
export const onBots =
  (act: (step: Step, path: string, bots: ModelBots) => Promise<unknown>): Action['act'] =>
  async (step) => {
    const { worlds, bots } = step.model
    const existing = [...bots].filter(
      ([, { expected, worldId }]) => expected === 'exists' && worlds.get(worldId)?.expected === 'exists',
    )
    const [id, picked] = pick(existing, step.random) ?? []
    if (picked !== undefined) await act(step, `/api/worlds/${picked.worldId}/bots/${id}/`, picked)
  }

/** Returns the expectation after a deletion over REST. */
export const afterDeletion = (before: Expectation, answer: { readonly status: number } | undefined): Expectation =>
  answer === undefined ? 'either' : answer.status < 300 ? 'gone' : before

/** Returns the expectation after a deletion with kubectl. A resource that was not pushed yet cannot be deleted. */
export const afterDeletionByHand = (
  { isUndecided }: Model,
  before: Expectation,
  isDone: boolean | undefined,
): Expectation => {
  if (isDone === false) return before
  return isDone === undefined || isUndecided ? 'either' : 'gone'
}
