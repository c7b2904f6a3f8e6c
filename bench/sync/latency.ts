import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '#shared/clock.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { silentLog } from '#shared/kube/log.ts'
import { createReflector } from '#shared/kube/reflector.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { rootApiKey, type Target } from '../api.ts'
import { actAtRate } from '../rate.ts'
import { openSockets } from '../realtime/sockets.ts'
import type { Place } from './worlds.ts'

const changesPerSecond = 25
const changes = 250
const patienceMs = 30_000

type Options = {
  readonly api: Target
  readonly place: Place
  readonly cluster: { readonly transport: Transport; readonly operatorKubeconfig: string }
}

/**
 * The times at which numbered changes were made and seen. Both kinds of change have their own prefix, since a snapshot of the
 * feed also shows the names that earlier changes set.
 */
const createTimes = (prefix: 'name' | 'status') => {
  const marker = new RegExp(`"${prefix}-(\\d+)"`, 'g')
  const madeMs = new Map<number, number>()
  const seenMs = new Map<number, number>()
  return {
    made: (n: number): void => void madeMs.set(n, performance.now()),
    /** Returns the text that identifies a change. */
    textOf: (n: number): string => `${prefix}-${n}`,
    /** Notes the changes that a text names. The first sight counts. */
    seen: (text: string): void => {
      for (const [, digits] of text.matchAll(marker)) {
        const n = Number(digits)
        if (!seenMs.has(n)) seenMs.set(n, performance.now())
      }
    },
    /** Waits until all changes were seen, and returns the milliseconds of each. */
    all: async (): Promise<number[]> => {
      const deadlineMs = performance.now() + patienceMs
      while (seenMs.size < changes) {
        if (performance.now() > deadlineMs) throw new Error(`${seenMs.size} of ${changes} changes were seen`)
        await delay(20)
      }
      return [...madeMs].map(([n, ms]) => Math.max(0, (seenMs.get(n) ?? 0) - ms))
    },
  }
}

const rate = { count: changes, perSecond: changesPerSecond }

/** Measures both directions of the sync, at a rate that leaves the machine idle in between. */
export const openLatency = async ({ api, place, cluster }: Options) => {
  const stop = new AbortController()
  const worlds = createClient<World>(cluster.transport, worldResource)
  const cache = createReflector({
    client: worlds,
    clock: systemClock,
    random: Math.random,
    log: silentLog,
    namespace: place.namespace,
  })
  const running = cache.run(stop.signal)
  await cache.synced({ timeoutMs: patienceMs })
  const operator = createTransport({
    credentials: loadCredentials({ KUBECONFIG: cluster.operatorKubeconfig }),
    userAgent: 'orrery-bench',
  })
  const { client, organizationId, projectId, ids, namespace } = place
  const idOf = (n: number): string => ids[n % ids.length] ?? ''
  return {
    /** From the response to a PATCH until a watch of the resources shows it. */
    ofCommits: async (): Promise<number[]> => {
      const times = createTimes('name')
      cache.onChange(({ type, object }) => {
        if (type !== 'deleted') times.seen(JSON.stringify(object.spec.displayName ?? ''))
      })
      await actAtRate(rate, async (n) => {
        await client.patchWorld({ params: { worldId: idOf(n) }, body: { name: times.textOf(n) } })
        times.made(n)
      })
      return times.all()
    },
    /** From the response to the write of a status until a subscriber of the project's feed has it, through the row. */
    ofStatuses: async (): Promise<number[]> => {
      const times = createTimes('status')
      const [socket] = await openSockets({
        url: api.url,
        path: '/api/realtime/connect/',
        headers: {
          'x-api-key': rootApiKey,
          'x-svc-organization-id': organizationId,
          'x-svc-project-id': projectId,
        },
        count: 1,
        heard: (_, message) => times.seen(message.toString()),
        opened: ({ send }) =>
          send(JSON.stringify({ action: 'subscribe', resource: { type: 'worlds', id: projectId } })),
      })
      await delay(1_000)
      await actAtRate(rate, async (n) => {
        const revision = cache.store.get(`${namespace}/${idOf(n)}`)?.spec.revision ?? 0
        await operator.request({
          method: 'PATCH',
          path: `/apis/orrery.dev/v1alpha1/namespaces/${namespace}/worlds/${idOf(n)}/status`,
          contentType: 'application/merge-patch+json',
          body: { status: { phase: 'Stopped', message: times.textOf(n), observedRevision: revision } },
        })
        times.made(n)
      })
      const all = await times.all()
      socket?.end()
      return all
    },
    close: async (): Promise<void> => {
      stop.abort()
      await running
      await operator.close()
    },
  }
}
