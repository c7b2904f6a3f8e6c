import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { type ApiProcess, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { openSocket, type SocketScope, type TestSocket } from '#test/support/socket.ts'
import { eventually } from '#test/support/wait.ts'
import { createWriters, type FinalRow, seeded } from '#test/support/writers.ts'

const changes = Number(process.env.ORRERY_TEST_CHANGES ?? 3_000)
const seed = Number(process.env.ORRERY_TEST_SEED ?? Date.now() % 1_000_000)
const documents = 40
const dir = mkdtempSync(join(tmpdir(), 'orrery-lost-'))
let postgres: Awaited<ReturnType<typeof startPostgres>>
let databaseUrl: string
let apis: ApiProcess[] = []
beforeAll(async () => {
  postgres = await startPostgres({ dir, logDir: inject('logDir'), durable: false, progress: () => undefined })
  await createDatabase(postgres.adminUrl, 'lost')
  databaseUrl = postgres.url('lost')
  apis = [await startApi({ databaseUrl }), await startApi({ databaseUrl })]
}, 120_000)
afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()))
  await postgres?.stop()
  forgetPostgres(dir)
}, 60_000)

/** Follows some documents over one connection after another, and keeps the newest version of each. */
const aSubscriber = (api: ApiProcess, scope: SocketScope, ids: readonly string[]) => {
  const newest = new Map<string, { version: string; n: number | null }>()
  const faults: string[] = []
  let connections = 0
  let updates = 0
  let client: TestSocket | undefined
  const take = (told: { resource: { id: string }; version: string; data: { config?: { n: number } } }): void => {
    const { id } = told.resource
    const before = newest.get(id)?.version ?? ''
    updates += 1
    if (told.version < before) faults.push(`${id} went from ${before} back to ${told.version}`)
    newest.set(id, { version: told.version, n: told.data.config?.n ?? null })
  }
  const open = async (): Promise<void> => {
    client = await openSocket(api.url, scope)
    connections += 1
    client.ws.on('message', (data) => {
      const told = JSON.parse(String(data))
      if (told.data !== undefined) take(told)
    })
    for (const id of ids) client.subscribe('liveConfig', id)
  }
  return {
    newest,
    faults,
    updates: () => updates,
    connections: () => connections,
    ids,
    cut: (): void => client?.terminate(),
    /** Has a connection, trying again while there is none. */
    keep: (): Promise<true> =>
      eventually('a connection', async () => {
        if (!client?.isOpen()) await open()
        return true
      }),
    close: (): void => client?.terminate(),
  }
}
type Subscriber = ReturnType<typeof aSubscriber>

const isUpToDate = (subscriber: Subscriber, rows: readonly FinalRow[]): boolean =>
  rows
    .filter(({ id }) => subscriber.ids.includes(id))
    .every(({ id, version, n }) => {
      const known = subscriber.newest.get(id)
      // Who begins to follow a document that is deleted is told that there is none.
      if (known === undefined || n === null) return n === null && (known?.n ?? null) === null
      return known.version === version.toISOString() && known.n === n
    })

test(`nothing is lost and no version goes back over ${changes} changes and every fault (seed ${seed})`, async () => {
  const [first] = apis
  if (first === undefined) throw new Error('no API')
  const random = seeded(seed)
  const { scope } = await inNewProject(first.url)
  const { organizationId = '', projectId = '' } = scope
  const writers = createWriters({ databaseUrl, organizationId, projectId, documents, random })
  const subscribers = Array.from({ length: 12 }, (_, at) => {
    const ids = Array.from({ length: documents }, (__, id) => `doc-${id}`).filter(() => at === 0 || random() < 0.5)
    return aSubscriber(apis[at % apis.length] ?? first, scope, ids)
  })
  for (const subscriber of subscribers) await subscriber.keep()

  let killed = 0
  const kill = async (): Promise<void> => {
    killed += await writers.killTails()
  }
  const faults = [
    kill,
    async () => void process.kill(await writers.backend(), 'SIGKILL'),
    async () => {
      await postgres.stop()
      await postgres.start()
    },
    kill,
  ]
  let over = false
  const writing = writers.run(changes).finally(() => {
    over = true
  })
  const breaking = (async () => {
    for (const [at, fault] of faults.entries()) {
      await eventually('its moment', async () => over || writers.committed() > ((at + 1) * changes) / 6, {
        timeoutMs: 600_000,
      })
      await fault()
    }
  })()
  const cutting = (async () => {
    while (!over) {
      const before = writers.committed()
      await eventually('some writes', async () => over || writers.committed() > before + changes / 60, {
        timeoutMs: 600_000,
      })
      const subscriber = subscribers[Math.floor(random() * subscribers.length)]
      subscriber?.cut()
      await subscriber?.keep()
    }
  })()
  await Promise.all([writing, breaking, cutting])
  for (const subscriber of subscribers) await subscriber.keep()

  const rows = await writers.rows()
  for (const [at, subscriber] of subscribers.entries()) {
    await eventually(`subscriber ${at} at the newest of all it follows`, async () => isUpToDate(subscriber, rows), {
      timeoutMs: 60_000,
    })
    expect(subscriber.faults).toEqual([])
  }
  const sum = (of: (subscriber: Subscriber) => number): number => subscribers.reduce((all, each) => all + of(each), 0)
  process.stderr.write(
    `[nothing lost] ${writers.committed()} changes, ${sum(({ updates }) => updates())} updates, ` +
      `${sum(({ connections }) => connections())} connections, ${killed} tails killed\n`,
  )
  expect(killed).toBe(4)
  expect(sum(({ connections }) => connections())).toBeGreaterThan(subscribers.length)
  for (const subscriber of subscribers) subscriber.close()
  await writers.close()
}, 1_800_000)
