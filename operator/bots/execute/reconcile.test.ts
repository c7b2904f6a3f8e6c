import { expect, test } from 'vitest'
import { createRunClock } from '#operator/lifecycle/runClock.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { runA, startMs } from '#operator/testing/fixtures.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { silentLog } from '#shared/kube/log.ts'
import { objectKey } from '#shared/kube/objects.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource } from '#shared/resources/group.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aBot, active, settings, someBots, startedIn } from '../fixtures.ts'
import { type BotDeps, reconcileBots } from './reconcile.ts'

const alreadyExists = new KubeError({ status: 409, reason: 'AlreadyExists', message: 'pods "bot-1-0" already exists' })

/** Reconciles one bot whose pod the cache does not show, on a server that has this pod already. */
const reconcileBesides = async (present: Pod) => {
  const clock = createFakeClock(startMs)
  const bots = someBots(1, startedIn(runA))
  let written: BotDeployment['status']
  const deps = {
    bots: {
      cache: { store: { get: () => bots, byIndex: () => [bots] }, waitForVersion: async () => undefined },
      client: {
        resource: botDeploymentResource,
        applyStatus: async ({ status }: Pick<BotDeployment, 'status'>) => {
          written = status
          return bots
        },
      },
    },
    pods: {
      cache: { store: { byIndex: () => [], get: () => undefined }, waitForVersion: async () => undefined },
      client: {
        create: () => Promise.reject(alreadyExists),
        get: async () => present,
      },
    },
    worlds: { store: { get: () => active() } },
    ...{ settings, runClock: createRunClock(clock), monotonic: clock.monotonic, log: silentLog },
    events: { record: () => undefined },
  } as unknown as BotDeps
  const result = await reconcileBots(deps, objectKey(bots.metadata), new AbortController().signal).then(
    () => 'done',
    () => 'retried',
  )
  const degraded = written?.conditions?.find(({ type }) => type === 'Degraded')
  return `${result} ${degraded?.status}/${degraded?.reason}`
}

test("a bot's own pod that the cache does not show yet is not reported as PodNameTaken", async () => {
  expect(await reconcileBesides(aBot(0))).toBe('done False/AsExpected')
})

test("a pod of another owner with a bot's name is reported as PodNameTaken and retried", async () => {
  const foreign = aBot(0, { metadata: { ownerReferences: [] } })
  expect(await reconcileBesides(foreign)).toBe('retried True/PodNameTaken')
})
