import { ownWriteTimeoutMs, type Source, writeStatus } from '#operator/ownStatus.ts'
import { type Diagnosis, explainRefusal, isRefusal } from '#operator/refusal.ts'
import type { RunClock } from '#operator/runClock.ts'
import type { Result } from '#shared/kube/controller.ts'
import { isAlreadyExists, isNotFound } from '#shared/kube/errors.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { Reflector } from '#shared/kube/reflector.ts'
import type { Log } from '#shared/log.ts'
import {
  type BotDeployment,
  type BotDeploymentStatus,
  botDeploymentSpecSchema,
} from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import { slowStart } from './batches.ts'
import { botEventsOf } from './events.ts'
import { takenName } from './outlook.ts'
import { plan } from './plan.ts'
import { type Bot, type BotPod, botName, buildBotPod } from './pod.ts'
import type { BotSettings } from './settings.ts'
import { refusedStatus } from './status.ts'
import { burstPauseMs, type PlanInput, type Step } from './step.ts'

/** What a reconcile of a BotDeployment works with. */
export type BotDeps = {
  /** Indexed by `world`: the key of the world of a deployment. */
  readonly bots: Source<BotDeployment>
  /** Indexed by `bots`: the key of the deployment whose label a pod bears. */
  readonly pods: Source<BotPod>
  readonly worlds: Reflector<World>
  readonly settings: BotSettings
  readonly runClock: RunClock
  readonly monotonic: () => number
  readonly events: Pick<EventRecorder, 'record'>
  readonly log: Log
}

/** The most requests that one reconcile has under way. */
const parallel = 16
/** After this a reconcile begins nothing more, and comes again: thousands of bots must not keep the others waiting. */
const turnMs = 3_000

/** The key of the world of a deployment. */
export const worldKeyOf = ({ metadata, spec }: BotDeployment): string =>
  objectKey({ namespace: metadata.namespace, name: spec.worldName })

/**
 * Reconciles the BotDeployment of that key (`namespace/name`): observes it, its world, the other deployments of that world
 * and its pods in the caches, plans, does the steps and writes the status once, if it differs. A refused step is told in
 * the status before the error goes up to be retried.
 */
export const reconcileBots = async (deps: BotDeps, key: string, signal: AbortSignal): Promise<Result> => {
  const input = observe(deps, key)
  if (input === undefined) {
    deps.runClock.forget(key)
    return
  }
  const planned = plan(input)
  const { done, error, diagnosis } = await executeAll(deps, input, planned.steps, signal)
  if (error !== undefined && diagnosis === undefined) throw error
  const status = diagnosis === undefined ? planned.status : refusedStatus(input, planned.status, diagnosis)
  const changed = await writeStatus(deps.bots, input.bots, status, signal)
  if (changed || done.created + done.deleted > 0) tell(deps, key, done, status)
  if (changed) for (const event of botEventsOf(input.bots, status)) deps.events.record(input.bots, event)
  if (error !== undefined) throw error
  const left = planned.steps.length - done.created - done.deleted
  const requeueAfterMs = left > 0 ? burstPauseMs : planned.requeueAfterMs
  return requeueAfterMs === undefined ? undefined : { requeueAfterMs }
}

const observe = (deps: BotDeps, key: string): PlanInput | undefined => {
  const seen = deps.bots.cache.store.get(key)
  if (seen === undefined) return undefined
  const bots = { ...seen, spec: botDeploymentSpecSchema.parse(seen.spec) }
  const worldKey = worldKeyOf(bots)
  const world = deps.worlds.store.get(worldKey)
  return {
    bots,
    world,
    siblings: deps.bots.cache.store.byIndex('world', worldKey),
    pods: deps.pods.cache.store.byIndex('bots', key),
    settings: deps.settings,
    // The bots belong to the world's run, so their deadlines are judged by the time of that run.
    nowMs: deps.runClock.now(key, world?.status?.runId),
  }
}

type Done = { created: number; deleted: number }

/** One line, with how many bots it was about: there may be thousands of steps. */
const tell = (deps: BotDeps, key: string, done: Done, status: BotDeploymentStatus): void => {
  const { phase, replicas, ready, message = '' } = status
  const runId = status.run?.id
  deps.log.info({ bots: key, runId, phase, replicas, ready, ...done, why: message }, 'reconciled')
}

type Execution = {
  readonly done: Done
  readonly error?: unknown
  /** What is to be said of the error; undefined for one that passes by itself, and is only tried again. */
  readonly diagnosis?: Diagnosis | undefined
}

/** Deletes first, so that a quota has room for what is made. A name that is taken keeps no other bot from being made. */
const executeAll = async (
  deps: BotDeps,
  input: PlanInput,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<Execution> => {
  const gone = steps.flatMap((step) => (step.verb === 'deletePod' ? [step.pod] : []))
  const made = steps.flatMap((step) => (step.verb === 'createPod' ? [step.bot] : []))
  const done = { created: 0, deleted: 0 }
  const endsMs = deps.monotonic() + turnMs
  const goOn = (): boolean => deps.monotonic() < endsMs
  const taken: number[] = []
  const remove = async (pod: BotPod): Promise<void> => {
    await deletePod(deps, pod, signal)
    done.deleted += 1
  }
  const create = async (bot: Bot): Promise<void> => {
    if ((await createPod(deps, input, bot, signal)) === 'taken') taken.push(bot.index)
    else done.created += 1
  }
  const failed =
    (await slowStart(gone, { first: parallel, most: parallel, goOn }, remove)) ??
    (await slowStart(made, { most: parallel, goOn }, create))
  if (failed !== undefined) return { done, error: failed.error, diagnosis: diagnose(failed.error) }
  if (taken.length === 0) return { done }
  const name = botName(input.bots.metadata.name, Math.min(...taken))
  // Nothing tells of a stranger's end, so it is tried again.
  return { done, error: new Error(`the name ${name} is taken`), diagnosis: takenName(name) }
}

const deletePod = async (deps: BotDeps, { metadata }: BotPod, signal: AbortSignal): Promise<void> => {
  const { name, namespace, uid } = metadata
  try {
    await deps.pods.client.delete({ name, namespace }, { signal, ...(uid === undefined ? {} : { uid }) })
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

const createPod = async (
  deps: BotDeps,
  { bots, world, settings }: PlanInput,
  bot: Bot,
  signal: AbortSignal,
): Promise<'made' | 'taken'> => {
  const { image } = settings
  if (world === undefined || image === undefined) throw new Error('a bot was planned without a world or an image')
  try {
    const { metadata } = await deps.pods.client.create(buildBotPod(bots, world, bot, { ...settings, image }), {
      signal,
    })
    await deps.pods.cache.reached(metadata.resourceVersion ?? '', { timeoutMs: ownWriteTimeoutMs })
    return 'made'
  } catch (error) {
    if (!isAlreadyExists(error)) throw error
    // One of ours that the cache shows by now is looked at by the reconcile that its event brings.
    const name = botName(bots.metadata.name, bot.index)
    const key = objectKey({ namespace: bots.metadata.namespace, name })
    return deps.pods.cache.store.get(key) === undefined ? 'taken' : 'made'
  }
}

/** What the API server's refusals mean. */
const diagnose = (error: unknown): Diagnosis | undefined =>
  isRefusal(error) ? explainRefusal(error, 'more bots') : undefined
