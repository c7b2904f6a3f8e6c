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
import { createBotController } from './bots/controller.ts'
import type { BotPod } from './bots/pod.ts'
import { type OperatorConfig, readOperatorConfig } from './config.ts'
import { askServer } from './world/askServer.ts'
import { createWorldController } from './world/controller.ts'
import { loadProfiles } from './world/loadProfiles.ts'
import type { Node } from './world/node.ts'
import type { Pod } from './world/pod.ts'
import type { Service } from './world/service.ts'

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

const core = (plural: string, kind: string): Resource => ({ group: '', version: 'v1', plural, kind })

const openControllers = async (parts: Parts, events: EventRecorder) => {
  const { config, transport, metrics, log } = parts
  const newId = createIdSource({ now: systemClock.now })
  const common = { backoff: config.backoff, clock: systemClock, random: Math.random, log, metrics }
  const worlds = createWorldController({
    ...common,
    worlds: createClient<World>(transport, worldResource),
    pods: createClient<Pod>(transport, core('pods', 'Pod')),
    services: createClient<Service>(transport, core('services', 'Service')),
    nodes: createClient<Node>(transport, core('nodes', 'Node')),
    settings: { ...config.world, profiles: await loadProfiles(transport, config.scalingProfiles, systemClock, log) },
    queuePollMs: config.queuePollMs,
    askServer,
    newRunId: () => newId('run'),
    events,
  })
  const bots = createBotController({
    ...common,
    bots: createClient<BotDeployment>(transport, botDeploymentResource),
    pods: createClient<BotPod>(transport, core('pods', 'Pod')),
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
    ...{ port: config.metricsPort, address: config.metricsAddress, registry, alive: election.alive },
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
