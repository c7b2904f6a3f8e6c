import { randomBytes } from 'node:crypto'
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { inSession } from '#dev/postgres.ts'
import type { ObjectServer } from '#dev/s3/versitygw.ts'
import { until } from '#dev/until.ts'

const user = 'orrery'
const startTimeoutMs = 120_000
const writable = 'rw,mode=1777'

/** Starts a container of an image of Postgres, which keeps its data in memory, and waits until it accepts connections. */
export const startPostgresContainer = async (image: string) => {
  const password = randomBytes(16).toString('hex')
  const container = await new GenericContainer(image)
    .withEnvironment({
      POSTGRES_USER: user,
      POSTGRES_PASSWORD: password,
      POSTGRES_DB: user,
      POSTGRES_INITDB_ARGS: '--locale=C',
      PGDATA: '/data/pgdata',
    })
    .withTmpFs({ '/data': writable, '/tmp': writable, '/var/run/postgresql': writable })
    .withCommand(['-c', 'max_connections=200'])
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forLogMessage(/listening on IPv4 address/))
    .withStartupTimeout(startTimeoutMs)
    .start()
  const adminUrl = `postgres://${user}:${password}@${addressOf(container, 5432)}/postgres`
  await until(
    'Postgres to accept connections',
    () => inSession(adminUrl, (sql) => sql.query('select 1')),
    startTimeoutMs,
  )
  return { adminUrl, stop: () => container.stop().then(() => undefined) }
}

/** Starts a container of an image of versitygw, which keeps its objects in memory. */
export const startObjectServerContainer = async (image: string): Promise<ObjectServer> => {
  const [accessKeyId, secretAccessKey] = [randomBytes(10).toString('hex'), randomBytes(24).toString('hex')]
  const container = await new GenericContainer(image)
    .withEnvironment({ ROOT_ACCESS_KEY_ID: accessKeyId, ROOT_SECRET_ACCESS_KEY: secretAccessKey })
    .withTmpFs({ '/data': writable, '/metadata': writable })
    .withCommand(['--port', ':7070', '--health', '/healthz', 'posix', '--sidecar', '/metadata', '/data'])
    .withExposedPorts(7070)
    .withWaitStrategy(Wait.forHttp('/healthz', 7070))
    .withStartupTimeout(startTimeoutMs)
    .start()
  return {
    endpoint: `http://${addressOf(container, 7070)}`,
    accessKeyId,
    secretAccessKey,
    stop: () => container.stop().then(() => undefined),
    start: () => Promise.reject(new Error('A container of the tests cannot be started again.')),
  }
}

const addressOf = (container: StartedTestContainer, port: number): string =>
  `${container.getHost()}:${container.getMappedPort(port)}`
