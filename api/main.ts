import type { Server as HttpServer } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { type AddressInfo, Server as NetServer } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { sql } from 'drizzle-orm'
import { Registry } from 'prom-client'
import { sleep, systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createTransport } from '#shared/kube/transport.ts'
import { createLog, type Log } from '#shared/log.ts'
import { listen, registerProcessMetrics, serveOperations } from '#shared/operations.ts'
import { withDefined } from '#shared/optional.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import { loadProfiles } from '#shared/resources/loadProfiles.ts'
import { readTls, reloadTls } from '#shared/tls.ts'
import { openTracing } from '#shared/tracing/open.ts'
import { createApp } from './app.ts'
import { type ApiConfig, readApiConfig } from './config.ts'
import { startClusters } from './connectedClusters.ts'
import { createDeps } from './deps.ts'
import type { Deps } from './domain/access/context.ts'
import { writeKeyUsage } from './domain/apiKeys/usage.ts'
import { purgeDeleted } from './domain/deletion/purge.ts'
import { removeUnusedPictures } from './domain/deletion/unusedPictures.ts'
import { eraseDeletedDocuments } from './domain/documents/cleanup.ts'
import { deleteExpiredTickets } from './domain/realtimeTickets/tickets.ts'
import { deleteExpiredRevocations } from './domain/users/tokens.ts'
import { type PeriodicTask, runPeriodicTasks } from './housekeeping.ts'
import { partitionedTables, prepareSchema } from './migration.ts'
import { type Database, openDatabase } from './platform/database/client.ts'
import { maintainPartitions } from './platform/database/partitions/maintain.ts'
import { deferSilentConnections } from './platform/http/accept.ts'
import { createClientAddress, isInNetworks } from './platform/http/clientAddress.ts'
import { type ConsoleFiles, notBuilt, readConsole } from './platform/http/console.ts'
import { handleInTurn } from './platform/http/inTurn.ts'
import { shareAnswer } from './platform/http/readiness.ts'
import { openServer } from './platform/http/server.ts'
import { createSlowReaderCheck } from './platform/http/slowReaders.ts'
import { deleteExpiredIdempotencyKeys } from './platform/idempotency/once.ts'
import { observeLogSlots } from './platform/logs/metrics.ts'
import { recheckLogs } from './platform/logs/recheck.ts'
import { openObjectStore } from './platform/objects/open.ts'
import { startRealtime } from './realtime/index.ts'
import { projectOfWorld } from './realtime/reads.ts'
import { isUpgrade } from './realtime/upgrade.ts'
import { createWebhookTasks, startWebhooks } from './webhooks.ts'

/** The time that a shutdown waits for open requests. Kubernetes kills a container 30 s after SIGTERM. */
const drainMs = 15_000
/** The time in which clients of kept connections learn that these end. */
const farewellMs = 3_000
/** The time limit for the headers of a request, and for the TLS handshake. */
const headersMs = 15_000
/** The time limit for a request with its body. */
const requestMs = 60_000
/** The maximum age of a readiness result. */
const readyFreshMs = 1_000

/** Opens the HTTP server, which limits silent connections. `reload` returns a function that ends the reloads of its certificate. */
const openHttp = async (config: ApiConfig, log: Log) => {
  const tls = config.tls && (await readTls(config.tls))
  const server = openServer({ tls, headersMs, requestMs, keepAliveMs: config.keepAliveMs, checkMs: 5_000, isUpgrade })
  const endSilent = deferSilentConnections(server, {
    silentMs: headersMs,
    clock: systemClock,
    limits: config.connectionLimits,
    isTrusted: (address) => isInNetworks(config.trustedProxies, address),
  })
  const reload = () =>
    tls && config.tls && 'setSecureContext' in server
      ? reloadTls(server, { files: config.tls, present: tls, clock: systemClock, log })
      : undefined
  return { server, endSilent, reload }
}

const run = async (config: ApiConfig, log: Log): Promise<void> => {
  const objects = await openObjectStore(config.objectStoreUrl)
  const { server, endSilent, reload } = await openHttp(config, log)
  const clientAddress = createClientAddress(config.trustedProxies, config.forwardingHeader)
  await prepareSchema(config, log)
  const { db, close } = openDatabase(config.database)
  const partitions = () => maintainAllPartitions({ db, log }, config)
  const registry = new Registry()
  registerProcessMetrics(registry, { eventLoopMs: 100 })
  const newId = createIdSource({ now: systemClock.now })
  const profiles = await loadApiProfiles(config, log)
  const tracing = await openTracing(config.tracing, log)
  const common = { db, clock: systemClock, newId, log }
  const connection = { ...common, env: process.env, config, profiles, registry, tracing }
  const clusters = startClusters(config.clusters, connection)
  const { logs, directory } = clusters
  const deps = createDeps({ ...common, logs, clusters: directory, profiles, objects, wakeSync: clusters.wake }, config)
  observeLogSlots(registry, deps.logSlots)
  await partitions()
  const app = createApp({
    deps,
    rootApiKey: config.rootApiKey,
    previousRootApiKey: config.previousRootApiKey,
    verifyToken: deps.verifyToken,
    projectOfWorld: (ids) => projectOfWorld(db, ids),
    rateLimits: config.rateLimits,
    allowedOrigins: config.allowedOrigins,
    registry,
    clientAddress,
    consoleFiles: openConsole(config, log),
    requestTracing: { tracing, trustsTraceparent: config.trustsTraceparent },
    isReady: shareAnswer(systemClock, readyFreshMs, () => isDatabaseReachable(db)),
  })
  const shutdown = new AbortController()
  const tasks = [...createPeriodicTasks(deps, partitions), ...createWebhookTasks(deps, config)]
  const housekeeping = runPeriodicTasks(tasks, { clock: systemClock, log, signal: shutdown.signal })
  const { logSlots: slots, readCredentials } = deps
  const rechecking = recheckLogs({ slots, readCredentials, clock: systemClock, log, signal: shutdown.signal })
  const endChecks = handleRequests(server, app.fetch)
  const realtime = startRealtime({
    deps,
    verifyToken: deps.verifyToken,
    registry,
    fetch: app.fetch,
    random: Math.random,
    clientAddress,
    databaseUrl: config.database.url,
    limits: config.socketLimits,
  })
  const webhooks = startWebhooks({ deps, registry, random: Math.random }, config)
  server.on('upgrade', realtime.upgrade)
  await listen(server, config.port)
  const endReload = reload()
  const operations = await serveOperations({ port: config.metricsPort, address: config.metricsAddress, registry })
  log.info({ port: (server.address() as AddressInfo).port, metricsPort: operations.port }, 'listening')

  log.info({ signal: await untilSignal() }, 'stopping')
  endSilent()
  endChecks()
  endReload?.()
  deps.logSlots.endAll()
  await Promise.all([drain(server), realtime.stop(), webhooks.stop()])
  shutdown.abort()
  await Promise.all([housekeeping, rechecking])
  await clusters.stop()
  await tracing.stop()
  await operations.close()
  await close()
  log.info({}, 'stopped')
}

/** Reads the files of the console. Returns undefined if it is off. */
const openConsole = (config: ApiConfig, log: Log): ConsoleFiles | undefined => {
  if (!config.isConsoleOn) return undefined
  const files = readConsole()
  if (files.size === 0) log.warn({}, notBuilt)
  return files
}

/** Passes the requests of a server to the application. Returns a function that ends the checks for slow readers. */
const handleRequests = (
  server: HttpServer | HttpsServer,
  fetch: Parameters<typeof getRequestListener>[0],
): (() => void) => {
  // The name is used for HTTP/1.0 without a Host header, as health checks of load balancers send it.
  const listener = getRequestListener(fetch, { hostname: 'localhost' })
  const { watch, stop } = createSlowReaderCheck(systemClock)
  handleInTurn(server, (request, response) => {
    watch(response)
    void listener(request, response)
  })
  return stop
}

/** Loads the profiles from the first cluster. */
const loadApiProfiles = async ({ scalingProfiles, clusters: [{ kubeconfig }] }: ApiConfig, log: Log) => {
  const credentials = loadCredentials(process.env, withDefined({ path: kubeconfig }))
  const transport = createTransport({ credentials, userAgent: 'orrery-api' })
  try {
    return await loadProfiles(transport, scalingProfiles, systemClock, log)
  } finally {
    await transport.close()
  }
}

const hourMs = 3_600_000
const minuteMs = 60_000

const maintainAllPartitions = async (
  target: { readonly db: Database; readonly log: Log },
  config: ApiConfig,
): Promise<void> => {
  for (const table of partitionedTables(config)) await maintainPartitions(target, table, systemClock.now())
}

const createPeriodicTasks = (deps: Deps, partitions: () => Promise<void>): PeriodicTask[] => [
  { name: 'idempotency keys', intervalMs: hourMs, run: () => deleteExpiredIdempotencyKeys(deps.db, deps.clock.now()) },
  { name: 'revoked tokens', intervalMs: minuteMs, run: () => deleteExpiredRevocations(deps.db, deps.clock.now()) },
  { name: 'realtime tickets', intervalMs: minuteMs, run: () => deleteExpiredTickets(deps.db) },
  { name: 'key usage', intervalMs: 5_000, run: () => writeKeyUsage(deps.db, deps.keyUsage, deps.clock.now()) },
  { name: 'documents', intervalMs: minuteMs, run: (signal) => eraseDeletedDocuments(deps, signal) },
  { name: 'partitions', intervalMs: 5 * minuteMs, run: partitions },
  { name: 'purge', intervalMs: minuteMs, run: (signal) => purgeDeleted(deps, signal) },
  { name: 'pictures', intervalMs: hourMs, run: async (signal) => void (await removeUnusedPictures(deps, signal)) },
]

const isDatabaseReachable = async (db: Database): Promise<boolean> => {
  try {
    await db.execute(sql`select 1`)
    return true
  } catch {
    return false
  }
}

/**
 * Stops accepting connections and waits for open requests. For `farewellMs`, responses on kept connections tell clients to
 * close them. After that, idle connections are closed.
 */
const drain = async (server: HttpServer | HttpsServer): Promise<void> => {
  // The close method of HTTP servers ends idle connections at once, even if a request is on its way.
  const closed = new Promise((resolve) => NetServer.prototype.close.call(server, resolve))
  server.prependListener('request', (_, response) => response.setHeader('connection', 'close'))
  const drained = new AbortController()
  const closeIdle = async (): Promise<void> => {
    await sleep(systemClock, farewellMs, drained.signal)
    while (!drained.signal.aborted) {
      server.closeIdleConnections()
      await sleep(systemClock, 50, drained.signal)
    }
  }
  const closing = closeIdle()
  await Promise.race([closed, sleep(systemClock, drainMs)])
  drained.abort()
  await closing
  server.closeAllConnections()
}

await startOrExit(async () => {
  const config = readApiConfig(process.env)
  await run(config, createLog({ name: 'api', level: config.logLevel }))
})
