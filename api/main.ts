import { createServer, type Server as HttpServer } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { sql } from 'drizzle-orm'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { sleep, systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { loadCredentials } from '#shared/kube/config.ts'
import { createLog, type Log } from '#shared/log.ts'
import { listen, serveOperations } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import { createApp } from './app.ts'
import { type ApiConfig, readApiConfig } from './config.ts'
import { createDeps } from './deps.ts'
import type { Deps } from './domain/access/context.ts'
import { createTokenVerifier } from './domain/access/token.ts'
import { writeKeyUsage } from './domain/apiKeys/usage/service.ts'
import { sweepPictures } from './domain/deletion/sweep/service.ts'
import { sweepDocuments } from './domain/documents/sweep/service.ts'
import { sweepRevokedTokens } from './domain/users/service.ts'
import { type PeriodicTask, runPeriodicTasks } from './housekeeping.ts'
import { type Database, openDatabase } from './platform/database/client.ts'
import { migrateDatabase } from './platform/database/migrate.ts'
import { acceptSpeakers } from './platform/http/accept.ts'
import { createClientAddress, isInNetworks } from './platform/http/clientAddress.ts'
import { isDatabaseAway } from './platform/http/problem.ts'
import { shareAnswer } from './platform/http/readiness.ts'
import { readTls, reloadTls } from './platform/http/tls.ts'
import { deleteExpiredIdempotencyKeys } from './platform/idempotency/service.ts'
import { openObjectStore } from './platform/objects/open.ts'
import { startRealtime } from './realtime/index.ts'
import { maintainPartitions } from './realtime/partitions/service.ts'
import { projectOfWorld } from './realtime/service.ts'
import { isUpgrade } from './realtime/upgrade.ts'
import { startClusterSync } from './sync/index.ts'

/** The time that the start waits for the database. */
const databaseWaitMs = 60_000
/** The time that a shutdown waits for open requests. Kubernetes kills a container 30 s after SIGTERM. */
const drainMs = 15_000
/** The time limit for the headers of a request, and for the TLS handshake. */
const headersMs = 15_000
/** The time limit for a request with its body. */
const requestMs = 60_000
/** The maximum age of a readiness result. */
const readyFreshMs = 1_000

const run = async (config: ApiConfig, log: Log): Promise<void> => {
  const credentials = loadCredentials(process.env)
  const objects = await openObjectStore(config.objectStoreUrl)
  const tls = config.tls && (await readTls(config.tls))
  const server = openServer(tls)
  const endSilent = acceptSpeakers(server, {
    silentMs: headersMs,
    clock: systemClock,
    limits: config.connectionLimits,
    isTrusted: (address) => isInNetworks(config.trustedProxies, address),
  })
  const clientAddress = createClientAddress(config.trustedProxies)
  await migrateWhenAvailable(config.database.url, log)
  const { db, close } = openDatabase(config.database)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const newId = createIdSource({ now: systemClock.now })
  const sync = startClusterSync({ db, credentials, config, clock: systemClock, newId, log, registry })
  const deps = createDeps({ db, clock: systemClock, newId, log, objects, wakeSync: sync.wake }, config)
  await maintainPartitions(deps, systemClock.now())
  const verifyToken = createTokenVerifier({
    issuer: deps.issuer,
    external: config.issuers,
    clock: systemClock,
    confirm: deps.tokens.confirm,
  })
  const app = createApp({
    deps,
    rootApiKey: config.rootApiKey,
    previousRootApiKey: config.previousRootApiKey,
    verifyToken,
    projectOfWorld: (ids) => projectOfWorld(db, ids),
    rateLimits: config.rateLimits,
    allowedOrigins: config.allowedOrigins,
    registry,
    clientAddress,
    isReady: shareAnswer(systemClock, readyFreshMs, () => isDatabaseReachable(db)),
  })
  const shutdown = new AbortController()
  const housekeeping = runPeriodicTasks(createPeriodicTasks(deps), { clock: systemClock, log, signal: shutdown.signal })
  const listener = getRequestListener(app.fetch)
  server.on('request', (request, response) => void listener(request, response))
  const realtime = startRealtime({
    deps,
    verifyToken,
    registry,
    fetch: app.fetch,
    random: Math.random,
    clientAddress,
    databaseUrl: config.database.url,
    limits: config.socketLimits,
  })
  server.on('upgrade', realtime.upgrade)
  await listen(server, config.port)
  const endReload =
    tls && config.tls && 'setSecureContext' in server
      ? reloadTls(server, { files: config.tls, present: tls, clock: systemClock, log })
      : undefined
  const operations = await serveOperations({ port: config.metricsPort, address: config.metricsAddress, registry })
  const { port } = server.address() as AddressInfo
  log.info({ port, metricsPort: operations.port }, 'listening')

  log.info({ signal: await untilSignal() }, 'stopping')
  endSilent()
  endReload?.()
  await Promise.all([drain(server), realtime.stop()])
  shutdown.abort()
  await housekeeping
  await sync.stop()
  await operations.close()
  await close()
  log.info({}, 'stopped')
}

const serverOptions = {
  requestTimeout: requestMs,
  headersTimeout: headersMs,
  connectionsCheckingInterval: 5_000,
  shouldUpgradeCallback: isUpgrade,
}

const openServer = (tls: { cert: string; key: string } | undefined): HttpServer | HttpsServer =>
  tls === undefined
    ? createServer(serverOptions)
    : createHttpsServer({ ...serverOptions, ...tls, handshakeTimeout: headersMs })

const hourMs = 3_600_000
const minuteMs = 60_000

const createPeriodicTasks = (deps: Deps): PeriodicTask[] => [
  { name: 'idempotency keys', intervalMs: hourMs, run: () => deleteExpiredIdempotencyKeys(deps.db, deps.clock.now()) },
  { name: 'revoked tokens', intervalMs: minuteMs, run: () => sweepRevokedTokens(deps.db, deps.clock.now()) },
  { name: 'key usage', intervalMs: 5_000, run: () => writeKeyUsage(deps.db, deps.keyUsage, deps.clock.now()) },
  { name: 'documents', intervalMs: minuteMs, run: (signal) => sweepDocuments(deps, signal) },
  {
    name: 'partitions',
    intervalMs: 5 * minuteMs,
    run: async () => void (await maintainPartitions(deps, deps.clock.now())),
  },
  { name: 'pictures', intervalMs: hourMs, run: async (signal) => void (await sweepPictures(deps, signal)) },
]

/** Migrates the database. Waits for one that is still starting; throws on any other error. */
const migrateWhenAvailable = async (url: string, log: Log): Promise<void> => {
  const deadlineMs = systemClock.monotonic() + databaseWaitMs
  for (;;) {
    try {
      return await migrateDatabase(url)
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error)
      if (!isDatabaseAway(error) || systemClock.monotonic() > deadlineMs) {
        throw new Error(
          `The database of ORRERY_DATABASE_URL cannot be used: ${why}. Check the URL and that Postgres is running.`,
          { cause: error },
        )
      }
      log.warn({ why }, 'waiting for the database')
      await sleep(systemClock, 1_000)
    }
  }
}

const isDatabaseReachable = async (db: Database): Promise<boolean> => {
  try {
    await db.execute(sql`select 1`)
    return true
  } catch {
    return false
  }
}

/** Closes the server and waits for open requests. Closes idle keep-alive connections, which would delay it. */
const drain = async (server: HttpServer | HttpsServer): Promise<void> => {
  const closed = new Promise((resolve) => server.close(resolve))
  const idle = setInterval(() => server.closeIdleConnections(), 50)
  await Promise.race([closed, sleep(systemClock, drainMs)])
  clearInterval(idle)
  server.closeAllConnections()
}

await startOrExit(async () => {
  const config = readApiConfig(process.env)
  await run(config, createLog({ name: 'api', level: config.logLevel }))
})
