import { randomUUID } from 'node:crypto'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { keepLog } from '#api/domain/logs/logs.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'

let api: ApiProcess
let database: Client
let databaseUrl: string
beforeAll(async () => {
  databaseUrl = await aDatabase()
  api = await startApi({ databaseUrl })
  database = new Client(databaseUrl)
  await database.connect()
})
afterAll(async () => {
  await database.end()
  await api.stop()
})

type Problem = { code: string; detail: string }
const aTenantWithLimits = async (limits: object) => {
  const tenant = await aTenant(api.url)
  await tenant.rest.call('PATCH', `/api/organizations/${tenant.scope.organizationId}/limits/`, limits)
  return tenant
}
/** Copies a row `times` times, with changes by SQL in which `n` is the number of the copy. */
const copyRow = async (table: string, id: string, { times, changes }: { times: number; changes: string }) => {
  await database.query(
    `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(t) || ${changes})).*
     from ${table} t, generate_series(1, ${times}) n where t.id = $1`,
    [id],
  )
}
/** Creates and deletes until a creation is refused, at most `limit` times. Returns the refusal. */
const untilRefused = async (limit: number, round: () => Promise<{ status: number; body: unknown }>) => {
  for (let at = 0; at < limit; at += 1) {
    const { status, body } = await round()
    if (status !== 200) return { status, ...(body as Problem) }
  }
  return undefined
}

describe('a loop of creations and deletions ends with a 409', () => {
  test('for worlds, until deleted ones are purged', async () => {
    const { rest, world } = await aTenantWithLimits({ maxWorlds: 2 })
    const deleted = await world()
    await rest.call('DELETE', `/api/worlds/${deleted}/`)
    await copyRow('worlds', deleted, {
      times: 98,
      changes: `jsonb_build_object('id', 'wld-' || lpad(n::text, 26, '0') , 'resource_name', n::text)`,
    })
    const round = async () => {
      const made = await rest.call<{ worldId: string }>('POST', '/api/worlds/', { name: 'World', transient: false })
      if (made.status === 200) await rest.call('DELETE', `/api/worlds/${made.body.worldId}/`)
      return made
    }
    expect(await untilRefused(10, round)).toMatchObject({
      status: 409,
      code: 'limit_reached',
      detail: expect.stringContaining('keeps 102 deleted ones'),
    })
    await rest.call('POST', `/api/worlds/${deleted}/purge/`)
    expect((await round()).status).toBe(200)
  })

  test('for projects', async () => {
    const { rest, scope } = await aTenantWithLimits({})
    await copyRow('projects', scope.projectId, {
      times: 1_998,
      changes: `jsonb_build_object('id', 'prj-' || lpad(n::text, 26, '0'), 'deleting_at', now(), 'purge_at', now() + interval '7 days')`,
    })
    const round = async () => {
      const made = await rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', { name: 'One more' })
      const headers = { 'x-svc-project-id': made.body.projectId }
      if (made.status === 200) await rest.call('DELETE', '/api/organizations/projects/current/', undefined, headers)
      return made
    }
    expect(await untilRefused(10, round)).toMatchObject({ status: 409, code: 'limit_reached' })
  })

  test('for documents with ever new ids, until rows are swept', async () => {
    const { rest } = await aTenantWithLimits({ maxDocuments: 3 })
    let at = 0
    const round = async () => {
      at += 1
      const path = `/api/documents/liveConfig/document-${at}/`
      const made = await rest.call('PUT', path, { data: { id: 'a', config: {} } })
      if (made.status === 200) await rest.call('DELETE', path)
      return made
    }
    expect(await untilRefused(20, round)).toMatchObject({ status: 409, code: 'limit_reached' })
    expect(
      (await rest.call('PUT', '/api/documents/liveConfig/document-1/', { data: { id: 'a', config: {} } })).status,
    ).toBe(200)
  })
})

test('an organization has at most 10,000 builds and 10,000 revoked tokens', async () => {
  const { rest, scope } = await aTenantWithLimits({})
  const putBuild = (tag: string) =>
    rest.call('PUT', `/api/builds/main/${tag}/`, { image: 'registry.example/a:1', contentId: 'a' })
  const revoke = (at: number) => rest.call('DELETE', `/api/users/ann/tokens/tok-${String(at).padStart(26, '0')}/`)
  expect([(await putBuild('first')).status, (await revoke(0)).status]).toEqual([200, 204])
  for (const [table, changes] of [
    ['builds', `jsonb_build_object('id', 'bld-' || lpad(n::text, 26, '0'), 'tag', n::text)`],
    ['revoked_tokens', `jsonb_build_object('id', 'tok-copy-' || n)`],
  ]) {
    await database.query(
      `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(t) || ${changes})).*
       from ${table} t, generate_series(1, 9998) n where t.organization_id = $1`,
      [scope.organizationId],
    )
  }
  expect([(await putBuild('last')).status, (await revoke(1)).status]).toEqual([200, 204])
  for (const refused of [await putBuild('more'), await revoke(2)]) {
    expect(refused).toMatchObject({ status: 409, body: { code: 'limit_reached' } })
  }
  expect((await putBuild('first')).status).toBe(200)
})

test('accepts 10,000 Idempotency-Keys of an organization, and drops none early', async () => {
  const [tenant, other] = [await aTenantWithLimits({}), await aTenantWithLimits({})]
  const owner = await tenant.withKey([`${tenant.paths.organization}/**:*`])
  const create = (rest: typeof owner, key: string) =>
    rest.call<Problem & { worldId: string }>(
      'POST',
      '/api/worlds/',
      { name: 'World', transient: false },
      { 'idempotency-key': key },
    )
  const first = await create(owner, 'first')
  await database.query(
    `insert into idempotency_keys (principal_id, organization_id, operation_id, key, fingerprint, sealed, created_at)
     select principal_id, organization_id, operation_id, 'copy-' || n, fingerprint, sealed, created_at
     from idempotency_keys, generate_series(1, 9998) n where key = 'first' and organization_id = $1`,
    [tenant.scope.organizationId],
  )
  expect((await create(owner, 'last')).status).toBe(200)
  const refused = await create(owner, 'one-more')
  expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
  expect(refused.headers.get('retry-after')).toBe('3600')
  expect((await create(owner, 'first')).body).toEqual(first.body)
  // A key that is removed takes none of its Idempotency-Keys with it.
  const fresh = await tenant.withKey([`${tenant.paths.organization}/**:w`])
  expect((await create(fresh, 'of-another-key')).status).toBe(429)
  const stranger = await other.withKey([`${other.paths.organization}/**:w`])
  expect((await create(stranger, 'one-more')).status).toBe(200)
  expect((await create(tenant.rest, 'of-the-platform')).status).toBe(200)
})

test('keeps the newest 1,000 deployments of a world', async () => {
  const { rest, world } = await aTenantWithLimits({})
  const id = await world()
  await rest.call('POST', `/api/worlds/${id}/start/`)
  const { rows } = await database.query<{ id: string }>('select id from deployments where world_id = $1', [id])
  await copyRow('deployments', rows[0]?.id ?? '', {
    times: 1_010,
    changes: `jsonb_build_object('id', 'dep-' || lpad(n::text, 26, '0'), 'created_at', t.created_at - n * interval '1 second')`,
  })
  await rest.call('POST', `/api/worlds/${id}/start/`)
  const kept = await database.query('select id from deployments where world_id = $1 order by created_at desc', [id])
  expect(kept.rowCount).toBe(1_000)
  expect(kept.rows[1]).toEqual(rows[0])
})

test('keeps the logs of the newest 10 runs of a world that have one, at most 64 KiB of each', async () => {
  const { rest, world, scope } = await aTenantWithLimits({})
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 1 })
  const aWorldWithRuns = async (times: number) => {
    const id = await world()
    await rest.call('POST', `/api/worlds/${id}/start/`)
    const { rows } = await database.query<{ id: string }>('select id from deployments where world_id = $1', [id])
    const changes = `jsonb_build_object('id', 'dep-' || lpad(n::text, 20, '0') || right(t.world_id, 6))`
    await copyRow('deployments', rows[0]?.id ?? '', { times, changes })
    const runs = await database.query<{ id: string }>('select id from deployments where world_id = $1 order by id', [
      id,
    ])
    return { id, runs: runs.rows.map((row) => row.id) }
  }
  const keep = (worldId: string, deploymentId: string, at: number, content = Buffer.from(deploymentId)) =>
    keepLog(db, {
      deploymentId,
      worldId,
      content,
      organizationId: scope.organizationId,
      podUid: randomUUID(),
      now: new Date(Date.UTC(2026, 0, 1, 0, at)),
    })
  const keptOf = async (worldId: string) => {
    const kept = 'select deployment_id as id, content from deployment_logs where world_id = $1 order by kept_at'
    return (await database.query<{ id: string; content: Buffer }>(kept, [worldId])).rows
  }
  const [mine, other] = [await aWorldWithRuns(12), await aWorldWithRuns(1)]
  for (const run of other.runs) await keep(other.id, run, 0)
  for (const [at, run] of mine.runs.entries()) await keep(mine.id, run, at)
  expect((await keptOf(mine.id)).map(({ id }) => id)).toEqual(mine.runs.slice(-10))
  expect(await keptOf(other.id)).toHaveLength(2)

  // A later server of the same run replaces the log of the earlier one.
  const [again = ''] = mine.runs.slice(-10)
  await keep(mine.id, again, 20, Buffer.concat([Buffer.alloc(100_000, 'a'), Buffer.alloc(64 * 1024, 'b')]))
  const kept = await keptOf(mine.id)
  expect(kept.map(({ id }) => id)).toEqual([...mine.runs.slice(-9), again])
  expect(kept.at(-1)?.content.equals(Buffer.alloc(64 * 1024, 'b'))).toBe(true)
  await close()
})
