import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { worlds } from '#api/domain/worlds/table.ts'
import { type Database, openDatabase } from '#api/platform/database/client.ts'
import { openSession } from '#api/platform/database/pool.ts'
import { claimTurn, markDirty } from '#api/platform/outbox/outbox.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { createSettle } from '#api/sync/push/settle.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { createGate } from '#test/support/gate.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { inNewProject } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const worldCount = 6
let url: string
let db: Database
let close: () => Promise<void>

/** Creates dirty rows: worlds that could not be pushed before the API ended. */
beforeAll(async () => {
  url = await aDatabase()
  const gate = await createGate(getServers().apiKubeconfig)
  gate.close()
  const api = await startApi({ databaseUrl: url, kubeconfig: gate.kubeconfig })
  const rest = await inNewProject(api.url)
  for (let at = 0; at < worldCount; at += 1) {
    await rest.call('POST', '/api/worlds/', { name: `World ${at}`, transient: false })
  }
  await api.stop()
  await gate.remove()
  const opened = openDatabase({ url, poolSize: 4 })
  db = opened.db
  close = opened.close
})
afterAll(() => close?.())

test('claims that end together are settled, except for rows that are locked or were marked again', async () => {
  await db.update(clusterOutbox).set({ leaseUntil: null, nextAt: sql`now()` })
  const turn = { cluster: 'default', leaseMs: 60_000, limit: 100, maxOfOne: 100, except: [], after: undefined }
  const claims = (await claimTurn(db, turn)).claimed.filter(({ kind }) => kind === 'world')
  const rows = new Map((await db.select().from(worlds)).map((row) => [row.id, row]))
  expect(claims).toHaveLength(worldCount)
  const [first, locked, again] = claims.map(({ id }) => id)
  const settle = createSettle(db)
  const done = new Set<string>()
  const settleAll = () =>
    claims.map(async (claimed) => {
      const row = rows.get(claimed.id)
      if (row === undefined) throw new Error('no row')
      const metadata = { uid: `uid of ${row.id}`, resourceVersion: '7' }
      const seconds = await settle(claimed, { row, spec: desiredSpec(row), metadata })
      done.add(row.id)
      return seconds
    })
  await db.transaction((tx) => markDirty(tx, { kind: 'world', id: again ?? '', revision: 2 }))
  const holder = await openSession({ connectionString: url }, () => undefined)
  await holder.client.query('begin')
  // Pull sees a later version than that of the push.
  const later = `resource_uid = 'uid of ' || id, applied_resource_version = '8'`
  await holder.client.query(`update worlds set ${later} where id = $1`, [locked])

  const settled = settleAll()
  await eventually('all others are settled', async () => done.size === worldCount - 1)
  expect(done.has(locked ?? '')).toBe(false)
  await holder.client.query('commit')
  await holder.close()
  // Rejects if the statement of the locked row failed, which ends the wait of others that it blocked.
  const seconds = await Promise.all(settled)

  expect(seconds.filter((each) => each === undefined)).toHaveLength(1)
  const left = (await db.select().from(clusterOutbox)).filter(({ kind }) => kind === 'world')
  expect(left).toMatchObject([{ id: again, revision: 2, leaseUntil: null }])
  for (const row of await db.select().from(worlds)) {
    const appliedResourceVersion = row.id === locked ? '8' : '7'
    expect(row).toMatchObject({ resourceUid: `uid of ${row.id}`, appliedResourceVersion })
    expect(row.applied?.displayName).toBe(row.name)
  }
  // A late response does not replace what is recorded.
  const row = rows.get(first ?? '')
  if (row === undefined || claims[0] === undefined || claims[1] === undefined) throw new Error('no row')
  const late = {
    row,
    spec: desiredSpec(row),
    metadata: { uid: `uid of ${row.id}`, resourceVersion: '6' },
  } as const
  await Promise.all([settle(claims[0], late), settle(claims[0], late), settle(claims[0], late)])
  const [now] = await db.select().from(worlds).where(eq(worlds.id, row.id))
  expect(now?.appliedResourceVersion).toBe('7')
})
