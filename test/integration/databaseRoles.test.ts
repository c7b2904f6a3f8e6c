import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { migrateDatabase } from '#api/platform/database/migrate.ts'
import { inSession } from '#dev/postgres.ts'
import { aDatabase, apiSecrets, programOf, rootApiKey, runOrrery, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const query = <Row extends object>(url: string, text: string): Promise<Row[]> =>
  inSession(url, async (sql) => (await sql.query<Row>(text)).rows)

/** Returns the URL with another role. Both roles have the same password. */
const withRole = (url: string, role: string): string => {
  const own = new URL(url)
  own.username = role
  return own.href
}

/** Creates a database with an owner who is no superuser, and the name of a role of the API that does not exist yet. */
const anOwnedDatabase = async ({ mayCreateRoles }: { mayCreateRoles: boolean }) => {
  const admin = await aDatabase()
  const name = new URL(admin).pathname.slice(1)
  const [owner, api] = [`owner_${name}`, `api_${name}`]
  const password = `'${new URL(admin).password}'`
  await query(
    admin,
    `create role ${owner} login password ${password} ${mayCreateRoles ? 'createrole' : 'nocreaterole'}`,
  )
  await query(admin, `alter database ${name} owner to ${owner}`)
  const createApiRole = () => query(admin, `create role ${api} login password ${password}`)
  return { admin, ownerUrl: withRole(admin, owner), apiUrl: withRole(admin, api), createApiRole }
}
type Owned = Awaited<ReturnType<typeof anOwnedDatabase>>

const environmentOf = ({ ownerUrl, apiUrl }: Owned) => ({
  ORRERY_DATABASE_URL: apiUrl,
  ORRERY_DATABASE_OWNER_URL: ownerUrl,
})
const migrate = (of: Owned) => runOrrery(['migrate'], environmentOf(of))

/** Starts an API that has only the URL of its own role. */
const startWithoutOwner = async ({ admin, apiUrl }: Owned) => {
  const settings = { ORRERY_DATABASE_URL: apiUrl, ORRERY_DATABASE_OWNER_URL: '' }
  const api = await startApi({ databaseUrl: admin, settings })
  onTestFinished(() => api.stop())
  return createRest(api.url)
}

test('the API of a database with one role for everything gets a role that owns nothing, and serves', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: true })
  await migrateDatabase({ url: database.ownerUrl })
  expect(migrate(database)).toMatchObject({ status: 0, stderr: '' })
  const rest = await startWithoutOwner(database)
  const created = await rest.call<object>('POST', '/api/organizations/', { name: 'Acme' })
  expect(created.status).toBe(200)
  const tables = await query<{ name: string; own: boolean }>(
    database.apiUrl,
    `select relname as name, pg_has_role(relowner, 'member') as own from pg_class
     where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
  )
  expect(tables.length).toBeGreaterThan(20)
  for (const { name, own } of tables) {
    expect.soft(own, name).toBe(false)
    for (const statement of [`drop table ${name}`, `alter table ${name} add column x int`, `truncate ${name}`]) {
      await expect.soft(query(database.apiUrl, statement), statement).rejects.toThrow(/must be owner|permission denied/)
    }
  }
})

test('each migration grants the rights on new tables, and any number of migrations may run together', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: true })
  expect(migrate(database).status).toBe(0)
  await query(database.ownerUrl, 'create table later (id int)')
  await expect(query(database.apiUrl, 'select * from later')).rejects.toThrow('permission denied')
  const runs = [1, 2, 3].map(async () => {
    const { url, ownerUrl } = { url: database.apiUrl, ownerUrl: database.ownerUrl }
    await migrateDatabase({ url, ownerUrl })
  })
  await Promise.all(runs)
  expect(await query(database.apiUrl, 'select * from later')).toEqual([])
})

test('an API without the URL of the owner refuses a database with pending migrations, and says what to do', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: true })
  await database.createApiRole()
  const start = spawn(process.execPath, [programOf('api')], {
    env: {
      PATH: process.env.PATH,
      ORRERY_DATABASE_URL: database.apiUrl,
      ORRERY_ROOT_API_KEY: rootApiKey,
      ORRERY_PUBLIC_URL: 'http://127.0.0.1:1',
      ...apiSecrets(),
      KUBECONFIG: getServers().apiKubeconfig,
    },
  })
  let said = ''
  start.stderr.on('data', (data) => {
    said += data
  })
  const [status] = await once(start, 'close')
  expect({ status, said }).toEqual({ status: 1, said: expect.stringContaining('Run `orrery migrate`') })
})

test('a migration waits for a role of the API that an administrator creates, and names it', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: false })
  const { PATH } = process.env
  const run = spawn(process.execPath, [programOf('orrery'), 'migrate'], { env: { PATH, ...environmentOf(database) } })
  const closed = once(run, 'close')
  let said = ''
  run.stdout.on('data', (data) => {
    said += data
  })
  await eventually('the statement to execute', async () =>
    said.includes(`create role \\"${new URL(database.apiUrl).username}`),
  )
  await database.createApiRole()
  expect((await closed)[0]).toBe(0)
})

test('a role that owns the tables, or has the rights of their owner, is refused as the role of the API', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: false })
  await migrateDatabase({ url: database.ownerUrl })
  const swapped = { ...database, ownerUrl: database.admin, apiUrl: database.ownerUrl }
  expect(migrate(swapped)).toMatchObject({ status: 1, stderr: expect.stringContaining('owns the table') })
  await database.createApiRole()
  const stranger = { ...database, ownerUrl: database.apiUrl, apiUrl: database.admin }
  expect(migrate(stranger)).toMatchObject({ status: 1, stderr: expect.stringContaining('does not own the table') })
  const same = { ...database, apiUrl: database.ownerUrl }
  expect(migrate(same)).toMatchObject({ status: 1, stderr: expect.stringContaining('the same role') })
})

test('the role of the API can create partitions of the present only, and drop none before its time', async () => {
  const database = await anOwnedDatabase({ mayCreateRoles: true })
  expect(migrate(database).status).toBe(0)
  await startWithoutOwner(database)
  const partitions = () =>
    query<{ name: string }>(
      database.admin,
      `select relname as name from pg_class where relispartition and relkind = 'r' order by 1`,
    )
  const before = await partitions()
  expect(before.filter(({ name }) => /^audit_records_t/.test(name))).toHaveLength(3)
  for (const name of before.map((each) => each.name).filter((each) => /_t\d+$/.test(each))) {
    await query(database.apiUrl, `select drop_partition('${name.replace(/_t\d+$/, '')}', '${name}')`)
  }
  const ofAnotherTable = `select drop_partition('organizations', 'organizations_t202601010000')`
  await expect(query(database.apiUrl, ofAnotherTable)).rejects.toThrow('no rows')
  const remainder = `select drop_partition('audit_records', 'audit_records_default')`
  await expect(query(database.apiUrl, remainder)).rejects.toThrow('is not the name of a partition')
  const far = `select make_partition('audit_records', 'audit_records_t209901010000')`
  await expect(query(database.apiUrl, far)).rejects.toThrow('cannot be created')
  expect(await partitions()).toEqual(before)
})
