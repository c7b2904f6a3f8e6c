import { postponeAcknowledgement } from '#operator/lifecycle/acknowledgement.ts'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { byWorld, worldKeyOf } from '#operator/lifecycle/execute/botCache.ts'
import { createOwned, deleteExact, patchExact, requireCurrent } from '#operator/lifecycle/execute/objects.ts'
import { deleteOwnerlessPod, requireOwnerGone, selectOwnerlessPods } from '#operator/lifecycle/execute/ownerlessPods.ts'
import { findPolicy } from '#operator/lifecycle/execute/policy.ts'
import { type ReconcileDeps, type Source, writeStatus } from '#operator/lifecycle/execute/status.ts'
import { startReconcileSpan } from '#operator/lifecycle/execute/trace.ts'
import { joinSentences } from '#operator/lifecycle/message.ts'
import { explainRefusal, isRefusal } from '#operator/lifecycle/refusal.ts'
import { pickCachedFields } from '#operator/pods/cachedFields.ts'
import { type Diagnosis, podNameTaken } from '#operator/pods/diagnosis.ts'
import { type Pod, runIdOf } from '#operator/pods/pod.ts'
import type { DeletePod } from '#operator/pods/termination.ts'
import { haveBotsEnded } from '#shared/domain/phases.ts'
import type { Result } from '#shared/kube/controller.ts'
import { controllerOf } from '#shared/kube/objects.ts'
import type { Store } from '#shared/kube/store.ts'
import { withDefined } from '#shared/optional.ts'
import type { BotDeployment, BotDeploymentStatus } from '#shared/resources/botDeployment.ts'
import { notBotsSelector } from '#shared/resources/selectors.ts'
import type { World } from '#shared/resources/world.ts'
import { inSpan } from '#shared/tracing/tracing.ts'
import { isAbsenceDoubted } from '../absence.ts'
import { botEvents } from '../events.ts'
import { plan } from '../plan.ts'
import { type Bot, botName, buildBotPod } from '../pod.ts'
import type { BotSettings } from '../settings.ts'
import { burstPauseMs, type PlanInput, type Step } from '../step.ts'
import { runInBatches } from './batches.ts'

/** The dependencies of a BotDeployment's reconcile. */
export type BotDeps = ReconcileDeps & {
  /** Indexed by `byWorld`. */
  readonly bots: Source<BotDeployment>
  /** Indexed by `bots`: the key of the bot deployment in a pod's label. */
  readonly pods: Source<Pod>
  readonly worlds: Source<World>
  /** The pods of servers, by the key of their World. */
  readonly servers: Pick<Store<Pod>, 'get'>
  readonly settings: BotSettings
  readonly monotonic: () => number
}

/** The maximum number of concurrent requests of one reconcile. */
const maxParallel = 16
/** After this time a reconcile starts no further step and is queued again, so that other keys get a worker. */
const turnMs = 3_000

/**
 * Reconciles the BotDeployment of that key (`namespace/name`): reads it, its pods, its world and the other bot deployments
 * of that world from the caches, plans, executes the steps and writes the status once, if it differs. A refused step is
 * written to the status before the error is thrown for a retry.
 */
export const reconcileBots = async (deps: BotDeps, key: string, signal: AbortSignal): Promise<Result> => {
  await deleteOwnerlessBots(deps, key, signal)
  const observed = await observe(deps, key, signal)
  if (observed === undefined) {
    deps.runClock.forget(key)
    deps.acknowledgements.forget(key)
    return
  }
  return inSpan(startReconcileSpan(deps.tracing, 'BotDeployment', observed.bots), () =>
    reconcileObserved(deps, key, observed, signal),
  )
}

const reconcileObserved = async (
  deps: BotDeps,
  key: string,
  input: PlanInput,
  signal: AbortSignal,
  isRead = false,
): Promise<Result> => {
  const { bots } = input
  const planned = plan(input)
  const hidden = !isRead && isAbsenceDoubted(input, planned) ? await readHidden(deps, input, signal) : []
  if (hidden.length > 0) return reconcileFound(deps, key, hidden, signal)
  if (deletesOtherRun(input, planned.steps)) {
    const ref = withDefined({ namespace: bots.metadata.namespace, name: bots.spec.worldName })
    await requireCurrent(deps.worlds.client, ref, input.world, signal)
  }
  const { done, found, error, why } = await executeSteps(deps, input, planned.steps, signal)
  if (error !== undefined && why === undefined) throw error
  if (error === undefined && found.length > 0) return reconcileFound(deps, key, [...input.pods, ...found], signal)
  const status = why === undefined ? planned.status : refusedBotStatus(input, planned.status, why)
  const detail = why === undefined ? planned.detail : why.detail
  const { steps, requeueAfterMs } = planned
  const isIdle = haveBotsEnded(status)
  const acknowledgement = { before: bots.status, status, steps, isIdle, requeueAfterMs }
  const later = postponeAcknowledgement(deps.acknowledgements, key, acknowledgement)
  if (later !== undefined) return later
  const isWritten = await writeStatus(deps.bots, bots, status, signal)
  const count = done.created + done.deleted + done.repaired
  if (isWritten || count > 0) logReconcile(deps, key, done, status, detail)
  if (isWritten) for (const event of botEvents(bots, status, detail)) deps.events.record(bots, event)
  if (error !== undefined) throw error
  return withDefined({ requeueAfterMs: count < steps.length ? burstPauseMs : requeueAfterMs })
}

/** Reconciles again with pods that the cache does not show. The names of these are in use then, so this ends. */
const reconcileFound = async (
  deps: BotDeps,
  key: string,
  found: readonly Pod[],
  signal: AbortSignal,
): Promise<Result> => {
  const input = await observe(deps, key, signal)
  if (input === undefined) return undefined
  const shown = new Set(input.pods.map(({ metadata }) => metadata.name))
  const hidden = found.filter(({ metadata }) => !shown.has(metadata.name))
  return reconcileObserved(deps, key, { ...input, pods: [...input.pods, ...hidden] }, signal, true)
}

/** Reads the bots of the deployment that the cache does not show. */
const readHidden = async ({ pods }: BotDeps, { bots }: PlanInput, signal: AbortSignal): Promise<Pod[]> => {
  const { namespace, uid } = bots.metadata
  const selection = withDefined({ namespace, labelSelector: notBotsSelector })
  const { items } = await pods.client.list({ ...selection, keep: pickCachedFields, signal })
  return items.filter((pod) => controllerOf(pod)?.uid === uid)
}

/** Deletes the pods of a deleted BotDeployment. */
const deleteOwnerlessBots = async (
  { bots, pods, settings, monotonic, log }: BotDeps,
  key: string,
  signal: AbortSignal,
): Promise<void> => {
  const [namespace, name = ''] = key.split('/')
  const owner = {
    client: bots.client,
    ref: withDefined({ namespace, name }),
    uid: bots.cache.store.get(key)?.metadata.uid,
  }
  const left = selectOwnerlessPods(owner, pods.cache.store.byIndex('bots', key))
  if (left.length === 0) return
  await requireOwnerGone(owner, left, signal)
  const endsMs = monotonic() + turnMs
  const failed = await runInBatches(
    left,
    { first: maxParallel, max: maxParallel, mayContinue: () => monotonic() < endsMs },
    (pod) => deleteOwnerlessPod(pods, pod, { role: 'bot', settings, signal }),
  )
  if (failed !== undefined) throw failed.error
  log.info({ bots: key, count: left.length }, 'deleted the bots of a bot deployment that is gone')
}

/** Reports whether the steps delete a bot of another run than that of the cached World, which may be outdated. */
const deletesOtherRun = ({ world }: PlanInput, steps: readonly Step[]): boolean =>
  steps.some((step) => step.verb === 'deletePod' && runIdOf(step.pod) !== world?.status?.runId)

/** Returns the status with a refusal. A refusal may concern only some of the bots, so the message keeps their number. */
const refusedBotStatus = (
  { bots, nowMs }: PlanInput,
  planned: BotDeploymentStatus,
  why: Diagnosis,
): BotDeploymentStatus => {
  const status = refusedStatus(bots.status, planned, why, nowMs)
  return { ...status, message: joinSentences(planned.message, why.message) }
}

const observe = async (deps: BotDeps, key: string, signal: AbortSignal): Promise<PlanInput | undefined> => {
  const bots = deps.bots.cache.store.get(key)
  if (bots === undefined) return undefined
  const worldKey = worldKeyOf(bots)
  const world = deps.worlds.cache.store.get(worldKey)
  const server = deps.servers.get(worldKey)
  // The address of the status belongs to that server.
  const isOfStatus = server !== undefined && server.metadata.uid === world?.status?.deployment?.externalId
  return {
    bots,
    world,
    serverIp: isOfStatus ? server.status?.podIP : undefined,
    siblings: deps.bots.cache.store.byIndex(byWorld, worldKey),
    pods: deps.pods.cache.store.byIndex('bots', key),
    policy: await findPolicy(deps.namespaces, bots.metadata.namespace, signal),
    settings: deps.settings,
    // The bots belong to the world's run, so its time decides about their deadlines.
    nowMs: deps.runClock.now(key, world?.status?.runId),
  }
}

type Done = { created: number; deleted: number; repaired: number }

const logReconcile = (
  deps: BotDeps,
  key: string,
  done: Done,
  { phase, replicas, ready, message = '', run }: BotDeploymentStatus,
  detail: string | undefined,
): void => {
  deps.log.info({ bots: key, runId: run?.id, phase, replicas, ready, ...done, message, detail }, 'reconciled bots')
}

type Execution = {
  readonly done: Done
  /** Pods that the cache does not show, and whose names were to be used. */
  readonly found: readonly Pod[]
  readonly error?: unknown
  /** The diagnosis for the status; undefined for an error that is only retried. */
  readonly why?: Diagnosis | undefined
}

/**
 * Puts labels back first, so that the cache shows what follows; a failure does not keep bots from stopping. Then deletes, to make
 * room in a quota. A name that is taken does not stop the creation of other bots.
 */
const executeSteps = async (
  deps: BotDeps,
  input: PlanInput,
  steps: readonly Step[],
  signal: AbortSignal,
): Promise<Execution> => {
  const repairs = steps.flatMap((step) => (step.verb === 'repairPod' ? [step] : []))
  const deletions = steps.flatMap((step) => (step.verb === 'deletePod' ? [step] : []))
  const creations = steps.flatMap((step) => (step.verb === 'createPod' ? [step.bot] : []))
  const done = { created: 0, deleted: 0, repaired: 0 }
  const found: Pod[] = []
  const endsMs = deps.monotonic() + turnMs
  const mayContinue = (): boolean => deps.monotonic() < endsMs
  const taken: { index: number; error: unknown }[] = []
  const repair = async ({ pod, patch }: (typeof repairs)[number]): Promise<void> => {
    await patchExact(deps.pods, pod, patch, signal)
    done.repaired += 1
  }
  const remove = async ({ pod, graceSeconds }: DeletePod): Promise<void> => {
    await deleteExact(deps.pods, pod, { ...withDefined({ gracePeriodSeconds: graceSeconds }), signal })
    done.deleted += 1
  }
  const create = async (bot: Bot): Promise<void> => {
    const creation = await createOwned(deps.pods, input.bots, buildPod(input, bot), signal)
    if (creation.kind === 'taken') taken.push({ index: bot.index, error: creation.error })
    if (creation.kind === 'exists') found.push(pickCachedFields(creation.object))
    if (creation.kind === 'created') done.created += 1
  }
  const notRepaired = await runInBatches(repairs, { max: maxParallel, mayContinue }, repair)
  const failed =
    (await runInBatches(deletions, { first: maxParallel, max: maxParallel, mayContinue }, remove)) ??
    (await runInBatches(creations, { max: maxParallel, mayContinue }, create)) ??
    notRepaired
  if (failed !== undefined) {
    const why = isRefusal(failed.error) ? explainRefusal(failed.error, 'bots') : undefined
    return { done, found, error: failed.error, why }
  }
  const [lowest] = taken.sort((a, b) => a.index - b.index)
  if (lowest === undefined) return { done, found }
  // No watch event follows when the stranger goes, so the creation is retried.
  return { done, found, error: lowest.error, why: podNameTaken(botName(input.bots.metadata.name, lowest.index)) }
}

const buildPod = ({ bots, world, settings, policy }: PlanInput, bot: Bot) => {
  const { image } = settings
  if (world === undefined || image === undefined) throw new Error('A bot was planned without a world or an image.')
  return buildBotPod(bots, world, bot, { ...settings, image }, policy)
}
