import { collectDefaultMetrics, Registry } from 'prom-client'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createClient } from '#shared/kube/client.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createKubeMetrics } from '#shared/kube/metrics.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { createLog, type Log } from '#shared/log.ts'
import { serveOperations } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import { botDeploymentResource, worldResource } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import { createBotController } from './bots/controller.ts'
import type { BotPod } from './bots/pod.ts'
import { type OperatorConfig, readOperatorConfig } from './config.ts'
import { createWorldController } from './world/controller.ts'
import { loadProfiles } from './world/loadProfiles.ts'
import type { Node } from './world/node.ts'
import type { Pod } from './world/pod.ts'
import type { Service } from './world/service.ts'

/** How long a shutdown waits for reconciles under way; a container is killed 30 s after SIGTERM. */
const shutdownMs = 20_000

const run = async (config: OperatorConfig, log: Log): Promise<void> => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const metrics = createKubeMetrics(registry)
  const transport = createTransport({
    credentials: loadCredentials(process.env),
    userAgent: 'orrery-operator',
    metrics,
  })
  const controller = createWorldController({
    worlds: createClient<World>(transport, worldResource),
    pods: createClient<Pod>(transport, { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }),
    services: createClient<Service>(transport, { group: '', version: 'v1', plural: 'services', kind: 'Service' }),
    nodes: createClient<Node>(transport, { group: '', version: 'v1', plural: 'nodes', kind: 'Node' }),
    settings: { ...config.world, profiles: await loadProfiles(transport, config.scalingProfiles, systemClock, log) },
    queuePollMs: config.queuePollMs,
    fetch,
    backoff: config.backoff,
    clock: systemClock,
    random: Math.random,
    newRunId: (
      (newId) => () =>
        newId('run')
    )(createIdSource({ now: systemClock.now })),
    log,
    metrics,
  })
  const bots = createBotController({
    bots: createClient<BotDeployment>(transport, botDeploymentResource),
    pods: createClient<BotPod>(transport, { group: '', version: 'v1', plural: 'pods', kind: 'Pod' }),
    worlds: controller.worlds,
    settings: config.bots,
    backoff: config.backoff,
    clock: systemClock,
    random: Math.random,
    log,
    metrics,
  })
  const ready = (): boolean => controller.ready() && bots.ready()
  const operations = await serveOperations({ port: config.metricsPort, registry, ready })
  log.info({ port: operations.port }, 'listening')
  const stop = new AbortController()
  const stopped = Promise.all([controller.run(stop.signal), bots.follow(stop.signal), bots.reconcile(stop.signal)])
  log.info({ signal: await untilSignal() }, 'stopping')
  stop.abort()
  await Promise.race([stopped, new Promise((resolve) => systemClock.setTimeout(() => resolve(undefined), shutdownMs))])
  await operations.close()
  await transport.close()
}

await startOrExit(async () => {
  const config = readOperatorConfig(process.env)
  await run(config, createLog({ name: 'operator', level: config.logLevel }))
})
