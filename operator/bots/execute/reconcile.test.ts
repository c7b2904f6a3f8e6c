import { expect, test } from 'vitest'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { aBot, active, settings, someBots, startedIn } from '#operator/testing/bots.ts'
import { runA, runB, startMs } from '#operator/testing/common.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { silentLog } from '#shared/kube/log.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, labels, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { noTracing } from '#shared/tracing/tracing.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { type BotDeps, reconcileBots } from './reconcile.ts'

const alreadyExists = new KubeError({ status: 409, reason: 'AlreadyExists', message: 'pods "bot-1-0" already exists' })

type TestInput = {
  readonly bots: BotDeployment
  readonly gone?: boolean
  readonly cached?: Pod[]
  readonly present?: Pod
  readonly hidden?: Pod[]
  readonly mayRepair?: boolean
  readonly live?: World
}

const notFound = new KubeError({ status: 404, reason: 'NotFound', message: 'not found' })

/** Reconciles a bot deployment at a server that has this pod already and this World. */
const reconcileAt = async ({
  bots,
  gone = false,
  cached = [],
  present,
  hidden = [],
  mayRepair = true,
  live = active(),
}: TestInput) => {
  const clock = createFakeClock(startMs)
  const deleted: string[] = []
  const repaired: string[] = []
  let written: BotDeployment['status']
  const deps = {
    bots: {
      cache: {
        store: { get: () => (gone ? undefined : bots), byIndex: () => [bots] },
        waitForVersion: async () => undefined,
      },
      client: {
        resource: botDeploymentResource,
        get: () => Promise.reject(notFound),
        applyStatus: async ({ status }: Pick<BotDeployment, 'status'>) => {
          written = status
          return bots
        },
      },
    },
    pods: {
      cache: { store: { byIndex: () => cached, get: () => undefined }, waitForVersion: async () => undefined },
      client: {
        create: () => Promise.reject(alreadyExists),
        get: async () => present,
        list: async () => ({ items: hidden }),
        patch: async ({ name }: { name: string }) => {
          repaired.push(name)
          if (!mayRepair) throw new KubeError({ status: 403, reason: 'Forbidden', message: 'no' })
          return present ?? aBot(0)
        },
        delete: async ({ name }: { name: string }) => void deleted.push(name),
      },
    },
    servers: { get: () => undefined },
    worlds: {
      cache: { store: { get: () => active() } },
      client: { resource: worldResource, get: async () => live },
    },
    namespaces: { cache: { store: { get: () => ({ metadata: { name: 'n' } }) } } },
    settings,
    runClock: createRunClock(clock),
    acknowledgements: { waitMs: () => 0, forget: () => undefined },
    monotonic: clock.monotonic,
    tracing: noTracing,
    log: silentLog,
    events: { record: () => undefined },
  } as unknown as BotDeps
  const result = await reconcileBots(deps, objectKey(bots.metadata), new AbortController().signal).then(
    () => 'done',
    () => 'retried',
  )
  const degraded = written?.conditions?.find(({ type }) => type === 'Degraded')
  return { deleted, repaired, shown: `${result} ${degraded?.status}/${degraded?.reason}` }
}

test("a bot's own pod that the cache does not show yet is not reported as PodNameTaken", async () => {
  const { shown } = await reconcileAt({ bots: someBots(1, startedIn(runA)), present: aBot(0) })
  expect(shown).toBe('done False/AsExpected')
})

test('a bot without its labels gets them back instead of a second one', async () => {
  const present = aBot(0, { metadata: { labels: { [labels.run]: runA } } })
  const { deleted, repaired, shown } = await reconcileAt({ bots: someBots(1, startedIn(runA)), present })
  expect([deleted, repaired, shown]).toEqual([[], ['bot-1-0'], 'done False/AsExpected'])
})

test.each([true, false])(
  'a bot without its labels does not outlive the end of its deployment, repaired or not: %s',
  async (mayRepair) => {
    const bot = aBot(0, { metadata: { labels: { [labels.run]: runA } } })
    const foreign = aBot(1, { metadata: { labels: {}, ownerReferences: [] } })
    const { status } = startedIn(runA)
    const bots = someBots(0, { status: { ...status, phase: 'Running', replicas: 1 } })
    const { deleted, repaired } = await reconcileAt({ bots, hidden: [bot, foreign], mayRepair })
    expect([repaired, deleted]).toEqual([['bot-1-0'], ['bot-1-0']])
  },
)

test("a pod of another owner with a bot's name is reported as PodNameTaken and retried", async () => {
  const foreign = aBot(0, { metadata: { ownerReferences: [] } })
  const { shown } = await reconcileAt({ bots: someBots(1, startedIn(runA)), present: foreign })
  expect(shown).toBe('retried True/PodNameTaken')
})

test('a new leader whose cache of Worlds is behind does not delete the bots of a newer run', async () => {
  const newer = { bots: someBots(1, startedIn(runB)), cached: [aBot(0, { run: runB })] }
  const world = active(runB)
  const live = { ...world, metadata: { ...world.metadata, resourceVersion: '11' } }
  expect((await reconcileAt({ ...newer, live })).deleted).toEqual([])
  expect((await reconcileAt({ bots: someBots(1, startedIn(runA)), cached: newer.cached })).deleted).toEqual(['bot-1-0'])
})

test('the bots of a deleted bot deployment are deleted without waiting for the garbage collector', async () => {
  const foreign = aBot(2, { metadata: { ownerReferences: [] } })
  const left = { bots: someBots(2), gone: true, cached: [aBot(0), aBot(1), foreign] }
  expect((await reconcileAt(left)).deleted).toEqual(['bot-1-0', 'bot-1-1'])
})
