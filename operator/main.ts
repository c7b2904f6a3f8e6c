import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { Registry } from 'prom-client'
import { type Clock, systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createClient, type Resource } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createElection, type Election } from '#shared/kube/election.ts'
import { createEventRecorder, type EventRecorder, eventResource } from '#shared/kube/events.ts'
import { fenceTransport } from '#shared/kube/fence.ts'
import { type Lease, leaseResource } from '#shared/kube/lease.ts'
import { createKubeMetrics, type KubeMetrics } from '#shared/kube/metrics.ts'
import { type KubeObject, objectKey } from '#shared/kube/objects.ts'
import { createServerTime } from '#shared/kube/serverTime.ts'
import { createTransport, type Transport } from '#shared/kube/transport.ts'
import { createLog, type Log } from '#shared/log.ts'
import { registerProcessMetrics, serveOperations } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import {
  apiGroup,
  botDeploymentResource,
  definitionResource,
  httpRouteResource,
  worldResource,
} from '#shared/resources/group.ts'
import { bindingResource, policyResource } from '#shared/resources/hostPortPolicy.ts'
import { loadProfiles } from '#shared/resources/loadProfiles.ts'
import type { World } from '#shared/resources/world.ts'
import { openTracing } from '#shared/tracing/open.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import { watchAdmission } from './admission.ts'
import { createBotController } from './bots/execute/controller.ts'
import { type OperatorConfig, readOperatorConfig } from './config.ts'
import { checkDefinitions } from './definitions.ts'
import { createBotCache } from './lifecycle/execute/botCache.ts'
import { serveLogs } from './logs/server.ts'
import { createTails, type Tails } from './logs/tails.ts'
import type { PodCaches } from './logs/target.ts'
import type { HttpRoute } from './pods/httpRoute.ts'
import type { Node } from './pods/node.ts'
import type { Pod } from './pods/pod.ts'
import type { Service } from './pods/service.ts'
import { askServer } from './world/execute/askServer.ts'
import { createWorldController } from './world/execute/controller.ts'
import { createWorldMetrics } from './world/execute/metrics.ts'

/** The limit for reconciles under way at a shutdown. Kubernetes kills a container 30 s after SIGTERM. */
const shutdownMs = 20_000

/** The dependencies of all controllers of this process. */
type Parts = {
  config: OperatorConfig
  identity: string
  /** Writes only while this process is the leader. */
  transport: Transport
  /** Reads logs. They have their own connections, so that a log that is followed delays no watch. */
  logTransport: Transport
  election: Election
  metrics: KubeMetrics
  registry: Registry
  /** The time of this machine, checked against the API server. */
  clock: Clock
  tracing: Tracing
  log: Log
  close(): Promise<void>
}

const openParts = async (config: OperatorConfig, log: Log): Promise<Parts> => {
  const registry = new Registry()
  // The operator is idle most of the time, and no request waits for it.
  registerProcessMetrics(registry, { eventLoopMs: 1_000 })
  const metrics = createKubeMetrics(registry)
  const serverTime = createServerTime(systemClock, (aheadMs) =>
    log.warn({ aheadMs }, "the clock of this machine differs from the API server's; using the API server's time"),
  )
  const connection = {
    credentials: loadCredentials(process.env),
    userAgent: 'orrery-operator',
    metrics,
    onDate: serverTime.observe,
  }
  const transport = createTransport(connection)
  // Renewals have their own connection, so that no backlog of requests delays them.
  const leaseTransport = createTransport({ ...connection, connections: 1 })
  const logTransport = createTransport(connection)
  const { namespace, name, timing } = config.lease
  const tracing = await openTracing(config.tracing, log)
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
    clock: { ...systemClock, now: serverTime.now },
    tracing,
    log,
    transport: fenceTransport(transport, election.fence),
    logTransport,
    close: async () => {
      await Promise.all([transport.close(), leaseTransport.close(), logTransport.close(), tracing.stop()])
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

const endpointSliceResource: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
}

const openControllers = async (parts: Parts, events: EventRecorder, tails: Tails | undefined) => {
  const { config, transport, metrics, registry, clock, tracing, log } = parts
  const worldMetrics = createWorldMetrics(registry, clock.now)
  const newId = createIdSource({ now: systemClock.now })
  const common = { backoff: config.backoff, clock, random: Math.random, tracing, log, metrics }
  const namespaces = createClient<KubeObject>(transport, coreResource('namespaces', 'Namespace'))
  const worldClient = createClient<World>(transport, worldResource)
  const profiles = await loadProfiles(transport, config.scalingProfiles, systemClock, log)
  const botClient = createClient<BotDeployment>(transport, botDeploymentResource)
  const botCache = createBotCache({ ...common, client: botClient })
  const worlds = createWorldController({
    ...common,
    bots: botCache,
    worlds: worldClient,
    pods: createClient<Pod>(transport, coreResource('pods', 'Pod')),
    services: createClient<Service>(transport, coreResource('services', 'Service')),
    routes: config.world.route && createClient<HttpRoute>(transport, httpRouteResource),
    endpointSlices: createClient<KubeObject>(transport, endpointSliceResource),
    nodes: createClient<Node>(transport, coreResource('nodes', 'Node')),
    namespaces,
    settings: { ...config.world, profiles },
    queuePollMs: config.queuePollMs,
    queueWriteMs: config.queueWriteMs,
    askServer,
    tails,
    newRunId: () => newId('run'),
    events: worldMetrics.count(events),
  })
  worldMetrics.observeWorlds(() => worlds.worlds.store.list())
  worldMetrics.observePods((world) => worlds.pods.store.get(objectKey(world)))
  const bots = createBotController({
    ...common,
    bots: { client: botClient, cache: botCache },
    pods: createClient<Pod>(transport, coreResource('pods', 'Pod')),
    worlds: worlds.worlds,
    servers: worlds.pods,
    namespaces: { client: namespaces, cache: worlds.namespaces },
    worldClient,
    settings: { ...config.bots, profiles },
    events,
  })
  return { controllers: [worlds, bots], pods: { servers: worlds.pods.store, bots: bots.pods.store } }
}

/** Starts the log server, if the configuration has one. */
const openLogServer = async (parts: Parts, pods: PodCaches, tails: Tails | undefined) => {
  const { config, logTransport: transport, clock, log } = parts
  if (config.logs === undefined || tails === undefined) return undefined
  const tailOf = (podUid: string) => tails.get(podUid)
  const server = await serveLogs({ settings: config.logs, transport, pods, tailOf, clock, log })
  log.info({ port: server.port }, 'serving logs')
  return server
}

const run = async (config: OperatorConfig, log: Log): Promise<void> => {
  const parts = await openParts(config, log)
  const { election, registry } = parts
  const events = openEvents(parts)
  const tails = config.logs && createTails({ ...parts, transport: parts.logTransport })
  const { controllers, pods } = await openControllers(parts, events, tails)
  const operations = await serveOperations({
    port: config.metricsPort,
    address: config.metricsAddress,
    registry,
    alive: election.alive,
    ready: () => controllers.every((controller) => controller.ready()),
  })
  log.info({ port: operations.port }, 'listening')
  const logServer = await openLogServer(parts, pods, tails)
  const stop = new AbortController()
  const watches = controllers.map((controller) => controller.watch(stop.signal))
  const lead = async (signal: AbortSignal): Promise<void> => {
    void watchAdmission({
      ...parts,
      policies: createClient(parts.transport, policyResource),
      bindings: createClient(parts.transport, bindingResource),
      signal,
    })
    const recording = events.run(signal, () => controllers.some((controller) => controller.isBusy()))
    await Promise.all(controllers.map((controller) => controller.reconcile(signal)))
    await recording
  }
  const definitions = createClient<KubeObject>(parts.transport, definitionResource)
  const leadership = checkDefinitions(definitions, { ...parts, signal: stop.signal }).then(() =>
    election.run(stop.signal, lead),
  )
  // A lost lease or an unsupported definition ends the process with an error. A signal shuts it down gracefully.
  const signal = await Promise.race([untilSignal(), leadership.then(() => 'the end of the election')])
  log.info({ signal }, 'stopping')
  stop.abort()
  const stopped = Promise.all([leadership, ...watches])
  await Promise.race([stopped, new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), shutdownMs))])
  await Promise.all([operations.close(), logServer?.close()])
  await parts.close()
}

await startOrExit(async () => {
  const config = readOperatorConfig(process.env)
  await run(config, createLog({ name: 'operator', level: config.logLevel }))
})
