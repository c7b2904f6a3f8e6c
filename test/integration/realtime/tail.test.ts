import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { openDatabase } from '#api/platform/database/client.ts'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { maintainPartitions } from '#api/platform/database/partitions/maintain.ts'
import { parseSnapshot } from '#api/realtime/pgSnapshot.ts'
import { openTailSession } from '#api/realtime/reads.ts'
import { changePartitions } from '#api/realtime/table.ts'
import { createLog } from '#shared/log.ts'
import { aDatabase } from '#test/support/processes.ts'

test('delivers the changes of others beside 4,100 of one organization, and names that one', async () => {
  const url = await aDatabase()
  await migrateDatabase({ url, partitioned: [changePartitions] })
  const { db, close } = openDatabase({ url, poolSize: 2 })
  await maintainPartitions({ db, log: createLog({ name: 'test', level: 'silent' }) }, changePartitions, Date.now())
  const session = await openTailSession(url)
  const unseen = parseSnapshot(await session.begin())
  await db.execute(sql`
    insert into realtime_changes (organization_id, project_id, world_id, type, id, version, user_id, data)
      select case when n <= 4100 then 'a' else 'b' end, 'p', '', 'kvStore', n::text, now(), '', '{}'
      from generate_series(1, 4102) n`)
  const { changes, crowded, snapshot } = await session.poll(unseen)
  expect(changes.map(({ organizationId, id }) => [organizationId, id]).sort()).toEqual([
    ['b', '4101'],
    ['b', '4102'],
  ])
  expect(crowded).toEqual(['a'])
  expect(await session.poll(parseSnapshot(snapshot))).toMatchObject({ changes: [] })
  await session.close()
  await close()
})
