import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createElection, type Election } from '#shared/kube/election.ts'
import { createEventRecorder, type EventRecorder, eventResource } from '#shared/kube/events.ts'
import { fenceTransport } from '#shared/kube/fence.ts'
import { type Lease, leaseResource } from '#shared/kube/lease.ts'
import { createKubeMetrics, type KubeMetrics } from '#shared/kube/metrics.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { createLog, type Log } from '#shared/log.ts'
import { serveOperations } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { apiGroup, botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { createBotController } from './bots/execute/controller.ts'
import { type OperatorConfig, readOperatorConfig } from './config.ts'
import type { Node } from './pods/node.ts'
import type { Pod } from './pods/pod.ts'
import type { Service } from './pods/service.ts'
import { askServer } from './world/execute/askServer.ts'
import { createWorldController } from './world/execute/controller.ts'
import { loadProfiles } from './world/execute/loadProfiles.ts'

/** The limit for reconciles under way at a shutdown. Kubernetes kills a container 30 s after SIGTERM. */
const shutdownMs = 20_000

/** The dependencies of all controllers of this process. */
type Parts = {
  config: OperatorConfig
  identity: string
  /** Writes only while this process is the leader. */
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
  const connection = { credentials: loadCredentials(process.env), userAgent: 'orrery-operator', metrics }
  const transport = createTransport(connection)
  // Renewals have their own connection, so that no backlog of requests delays them.
  const leaseTransport = createTransport({ ...connection, connections: 1 })
  const { namespace, name, timing } = config.lease
  const identity = config.lease.identity ?? `${hostname()}_${randomUUID()}`
  const election = createElection({
    client: createClient<Lease>(leaseTransport, leaseResource),
    ref: { namespace, name },
    identity,
    timing,
    clock: systemClock,
    random: Math.random,
    log,
    metrics,
  })
  return {
    config,
    identity,
    election,
    metrics,
    registry,
    log,
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
    clock: systemClock,
    random: Math.random,
    log,
    metrics: metrics.events,
  })

/** A resource of the core API group. */
const coreResource = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind })

const openControllers = async (parts: Parts, events: EventRecorder) => {
  const { config, transport, metrics, log } = parts
  const newId = createIdSource({ now: systemClock.now })
  const common = { backoff: config.backoff, clock: systemClock, random: Math.random, log, metrics }
  const worlds = createWorldController({
    ...common,
    worlds: createClient<World>(transport, worldResource),
    pods: createClient<Pod>(transport, coreResource('pods', 'Pod')),
    services: createClient<Service>(transport, coreResource('services', 'Service')),
    nodes: createClient<Node>(transport, coreResource('nodes', 'Node')),
    settings: { ...config.world, profiles: await loadProfiles(transport, config.scalingProfiles, systemClock, log) },
    queuePollMs: config.queuePollMs,
    askServer,
    newRunId: () => newId('run'),
    events,
  })
  const bots = createBotController({
    ...common,
    bots: createClient<BotDeployment>(transport, botDeploymentResource),
    pods: createClient<Pod>(transport, coreResource('pods', 'Pod')),
    worlds: worlds.worlds,
    settings: config.bots,
    events,
  })
  return [worlds, bots]
}

const run = async (config: OperatorConfig, log: Log): Promise<void> => {
  const parts = openParts(config, log)
  const { election, registry } = parts
  const events = openEvents(parts)
  const controllers = await openControllers(parts, events)
  const operations = await serveOperations({
    port: config.metricsPort,
    address: config.metricsAddress,
    registry,
    alive: election.alive,
    ready: () => controllers.every((controller) => controller.ready()),
  })
  log.info({ port: operations.port }, 'listening')
  const stop = new AbortController()
  const watches = controllers.map((controller) => controller.watch(stop.signal))
  const leadership = election.run(stop.signal, async (signal) => {
    const recording = events.run(signal)
    await Promise.all(controllers.map((controller) => controller.reconcile(signal)))
    await recording
  })
  // A lost lease ends the process with an error, a signal ends it in order.
  const signal = await Promise.race([untilSignal(), leadership.then(() => 'the end of the election')])
  log.info({ signal }, 'stopping')
  stop.abort()
  const stopped = Promise.all([leadership, ...watches])
  await Promise.race([stopped, new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), shutdownMs))])
  await operations.close()
  await parts.close()
}

await startOrExit(async () => {
  const config = readOperatorConfig(process.env)
  await run(config, createLog({ name: 'operator', level: config.logLevel }))
})
