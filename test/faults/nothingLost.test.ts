import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createDatabase, forgetPostgres, startPostgres } from '#dev/postgres.ts'
import { createFollower, type Follower } from '#test/support/follower.ts'
import { type ApiProcess, startApi } from '#test/support/processes.ts'
import { createRest, inNewProject } from '#test/support/rest.ts'
import { drawSeed } from '#test/support/seed.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'
import { createWriters, type FinalRow, seeded } from '#test/support/writers.ts'

const changes = Number(process.env.ORRERY_TEST_CHANGES ?? 3_000)
const seed = drawSeed('ORRERY_TEST_SEED')
/** No run takes longer, whatever its size. */
const limitMs = 60_000 + changes * 15
const documents = 120
const followers = 12
const dir = mkdtempSync(join(tmpdir(), 'orrery-lost-'))
let postgres: Awaited<ReturnType<typeof startPostgres>>
let databaseUrl: string
let apis: ApiProcess[] = []
beforeAll(async () => {
  postgres = await startPostgres({ dir, logDir: getServers().logDir, durable: false, progress: () => undefined })
  await createDatabase(postgres.adminUrl, 'lost')
  databaseUrl = postgres.url('lost')
  const client = new Client(databaseUrl)
  await client.connect()
  // Committed data must survive a crash of Postgres, but not of the machine.
  await client.query('alter database lost set synchronous_commit = on')
  await client.end()
  apis = [await startApi({ databaseUrl }), await startApi({ databaseUrl })]
}, 120_000)
afterAll(async () => {
  await Promise.all(apis.map((api) => api.stop()))
  await postgres?.stop()
  forgetPostgres(dir)
}, 60_000)

const isUpToDate = ({ ids, newest }: Follower, rows: readonly FinalRow[]): boolean =>
  rows
    .filter(({ id }) => ids.includes(id))
    .every(({ id, version, n }) => {
      const known = newest.get(id)
      // A new subscriber of a deleted document gets a message that the document does not exist.
      if (n === null) return known === undefined || known.isAbsent || known.version === version.toISOString()
      return known?.version === version.toISOString() && known.n === n
    })

test(`nothing is lost and no version goes back over ${changes} changes and every fault (seed ${seed})`, {
  timeout: limitMs + 120_000,
}, async () => {
  const random = seeded(seed)
  const [first] = apis
  if (first === undefined) throw new Error('no API')
  const { scope } = await inNewProject(first.url)
  const { organizationId = '', projectId = '' } = scope
  const rests = apis.map(({ url }) => createRest(url, scope))
  const writers = createWriters({ databaseUrl, organizationId, projectId, documents, rests, random })
  const all = [...Array.from({ length: documents }, (_, id) => `doc-${id}`), 'long-0', 'long-1']
  const urls = apis.map(({ url }) => url)
  const allFollowers = Array.from({ length: followers }, (_, at) =>
    createFollower({ urls, scope, ids: all.filter(() => at < 4 || random() < 0.3), first: at, random }),
  )
  // Some clients are never disconnected, so that no snapshot can make up for a missing change.
  const interruptible = allFollowers.slice(2)
  for (const follower of allFollowers) await follower.keep()

  const faults = [
    () => writers.killTails(apis.length),
    async () => void process.kill(await writers.backend(), 'SIGKILL'),
    async () => {
      await postgres.stop()
      await postgres.start()
    },
    () => writers.killTails(apis.length),
  ]
  let isOver = false
  const until = (what: string, count: number): Promise<unknown> =>
    eventually(what, async () => isOver || writers.committed() >= count, { timeoutMs: limitMs })
  const writing = writers.run(changes).finally(() => {
    isOver = true
  })
  const breaking = (async () => {
    for (const [at, fault] of faults.entries()) {
      await until('the moment of a fault', ((at + 1) * changes) / 6)
      await fault()
    }
  })()
  const cutting = (async () => {
    while (!isOver) {
      await until('more changes', writers.committed() + 50)
      const follower = interruptible[Math.floor(random() * interruptible.length)]
      if (random() < 0.2) follower?.dawdle()
      else follower?.cut()
      await follower?.keep()
    }
  })()
  await Promise.all([writing, breaking, cutting])

  const rows = await writers.rows()
  for (const [at, follower] of allFollowers.entries()) {
    await eventually(
      `follower ${at} at the newest of all it follows`,
      async () => {
        await follower.keep()
        return isUpToDate(follower, rows)
      },
      { timeoutMs: 60_000 },
    )
  }
  const sum = (of: (follower: Follower) => number): number => allFollowers.reduce((total, each) => total + of(each), 0)
  process.stderr.write(
    `[nothing lost] seed ${seed}: ${writers.committed()} changes, ${writers.unanswered()} writes unanswered, ` +
      `${sum(({ updates }) => updates())} updates over ${sum(({ connections }) => connections())} connections\n`,
  )
  expect(allFollowers.flatMap((follower) => follower.faults)).toEqual([])
  expect(rows.length).toBeGreaterThan(documents / 2)
  expect(sum(({ connections }) => connections())).toBeGreaterThan(followers)
  for (const follower of allFollowers) follower.close()
  await writers.close()
})
