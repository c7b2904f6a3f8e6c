import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createElection, type Election } from '#shared/kube/election.ts'
import { createEventRecorder, eventResource } from '#shared/kube/events.ts'
import { fenceTransport } from '#shared/kube/fence.ts'
import { type Lease, leaseResource } from '#shared/kube/lease.ts'
import { createKubeMetrics, type KubeMetrics } from '#shared/kube/metrics.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { createLog, type Log } from '#shared/log.ts'
import { serveOperations } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import { apiGroup, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { type OperatorConfig, readOperatorConfig } from './config.ts'
import { createWorldController } from './world/controller.ts'
import type { Pod } from './world/pod.ts'

/** How long a shutdown waits for reconciles under way; a container is killed 30 s after SIGTERM. */
const shutdownMs = 20_000

/** What every controller of this process works with; the transport writes only while this process leads. */
type Parts = {
  config: OperatorConfig
  identity: string
  transport: Transport
  election: Election
  metrics: KubeMetrics
  registry: Registry
  log: Log
  close(): Promise<void>
}

const openParts = (config: OperatorConfig, log: Log): Parts => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const metrics = createKubeMetrics(registry)
  const server = { credentials: loadCredentials(process.env), userAgent: 'orrery-operator', metrics }
  const transport = createTransport(server)
  // No backlog of calls may delay a renewal.
  const leaseTransport = createTransport({ ...server, connections: 1 })
  const { namespace, name, timing } = config.lease
  const identity = config.lease.identity ?? `${hostname()}_${randomUUID()}`
  const election = createElection({
    client: createClient<Lease>(leaseTransport, leaseResource),
    ref: { namespace, name },
    ...{ identity, timing, clock: systemClock, random: Math.random, log, metrics },
  })
  return {
    ...{ config, identity, election, metrics, registry, log },
    transport: fenceTransport(transport, election.fence),
    close: async () => {
      await Promise.all([transport.close(), leaseTransport.close()])
    },
  }
}

const openEvents = ({ transport, identity, metrics, log }: Parts) =>
  createEventRecorder({
    client: createClient(transport, eventResource),
    controller: `${apiGroup}/operator`,
    instance: identity,
    ...{ clock: systemClock, random: Math.random, log, metrics: metrics.events },
  })

const run = async (config: OperatorConfig, log: Log): Promise<void> => {
  const parts = openParts(config, log)
  const { election, metrics, registry, transport } = parts
  const events = openEvents(parts)
  const newId = createIdSource({ now: systemClock.now })
  const controllers = [
    createWorldController({
      worlds: createClient<World>(transport, worldResource),
      pods: createClient<Pod>(transport, { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }),
      settings: config.world,
      backoff: config.backoff,
      clock: systemClock,
      random: Math.random,
      newRunId: () => newId('run'),
      ...{ events, log, metrics },
    }),
  ]
  const operations = await serveOperations({
    ...{ port: config.metricsPort, registry, alive: election.alive },
    ready: () => controllers.every((controller) => controller.ready()),
  })
  log.info({ port: operations.port }, 'listening')
  const stop = new AbortController()
  const following = controllers.map((controller) => controller.follow(stop.signal))
  const led = election.run(stop.signal, async (signal) => {
    const telling = events.run(signal)
    await Promise.all(controllers.map((controller) => controller.reconcile(signal)))
    await telling
  })
  // A lease that is lost ends the process with an error; a signal ends it in order.
  const signal = await Promise.race([untilSignal(), led.then(() => 'the end of the election')])
  log.info({ signal }, 'stopping')
  stop.abort()
  const stopped = Promise.all([led, ...following])
  await Promise.race([stopped, new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), shutdownMs))])
  await operations.close()
  await parts.close()
}

await startOrExit(async () => {
  const config = readOperatorConfig(process.env)
  await run(config, createLog({ name: 'operator', level: config.logLevel }))
})
