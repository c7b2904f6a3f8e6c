import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createDatabase, forgetPostgres, inSession, startPostgres } from '#dev/postgres.ts'
import { findPostgresTools } from '#dev/programs.ts'
import { withDefined } from '#shared/optional.ts'
import { apiFinalizer, groupVersion, labels } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, runOrrery, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, type WorldBody } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

type Status = {
  dirtyRows: { count: number }
  counts: { frozen: number; orphans: number; strangers: number }
  findings: { type: string; kind: string; name: string }[]
}

const cluster = aCluster()
let databaseUrl: string
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>
beforeAll(async () => {
  // Resources of earlier files would be orphans.
  await cluster.removeLeftovers()
  databaseUrl = await aDatabase()
  operator = await startOperator()
  api = await startApi({ databaseUrl })
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop()])
  await cluster.close()
})

const sync = (...args: string[]) => {
  const { status, stdout, stderr } = runOrrery(['sync', ...args], {
    ORRERY_DATABASE_URL: databaseUrl,
    KUBECONFIG: getServers().apiKubeconfig,
  })
  return { status, text: stdout + stderr }
}

const namespaceOf = (tenant: Tenant): string => `orrery-${tenant.scope.organizationId}`
const readStatus = async (): Promise<Status> => (await createRest(api.url).call<Status>('GET', '/api/sync/')).body
const isSettled = () =>
  eventually('no row is dirty', async () => (await readStatus()).dirtyRows.count === 0, { timeoutMs: 90_000 })
const isResolved = () =>
  eventually('nothing is left to resolve', async () => {
    const { findings } = await readStatus()
    if (findings.length > 0) throw new Error(JSON.stringify(findings))
    return true
  })
const world = async (tenant: Tenant, id: string): Promise<WorldBody> =>
  (await tenant.rest.call<WorldBody>('GET', `/api/worlds/${id}/`)).body
const podUid = async (namespace: string, id: string) => (await cluster.pod(namespace, id).exists()).metadata.uid

/** Returns the audit records of commands in an organization, sorted. */
const commandRecords = async ({ rest }: Tenant): Promise<string[]> => {
  type AuditRecord = { actor: { kind: string; id: string }; action: string; resources: string[] }
  const { body } = await rest.call<AuditRecord[]>('GET', '/api/audit/?door=cli')
  expect(body.every(({ actor }) => actor.kind === 'command')).toBe(true)
  return body.map(({ actor, action, resources }) => [actor.id, action, ...resources].join(' ')).sort()
}

/** Runs an action, then puts the database back as it was before. No API runs meanwhile. */
const withRestoreAfter = async (act: () => Promise<void>): Promise<void> => {
  const port = Number(new URL(api.url).port)
  const backup = databaseUrl.split('/').at(-1) ?? ''
  const copy = `${backup}_copy`
  await api.stop()
  await inSession(getServers().postgresAdminUrl, (session) =>
    session.query(`create database ${copy} template ${backup}`).then(() => undefined),
  )
  api = await startApi({ databaseUrl, port })
  await act()
  await api.stop()
  databaseUrl = databaseUrl.replace(/[^/]+$/, copy)
  api = await startApi({ databaseUrl, port })
}

test('after a restore of the database every newer resource is listed, and gets its row back with its run', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const [changed = '', deleted = ''] = await Promise.all([tenant.world(), tenant.world({ name: 'Deleted later' })])
  await isSettled()
  let [created, bots] = ['', '']
  await withRestoreAfter(async () => {
    created = await tenant.world({ name: 'Created later' })
    await tenant.rest.call('PATCH', `/api/worlds/${changed}/`, { name: 'Changed later' })
    for (const id of [changed, created]) await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    await tenant.rest.call('POST', `/api/worlds/${created}/bots/`, { count: 2 })
    const listed = await tenant.rest.call<{ documentId: string }[]>('GET', `/api/worlds/${created}/bots/`)
    bots = listed.body[0]?.documentId ?? ''
    await tenant.rest.call('DELETE', `/api/worlds/${deleted}/`)
    await isSettled()
    await cluster.world(namespace, deleted).isGone()
  })
  const uids = [await podUid(namespace, changed), await podUid(namespace, created)]
  const runs = (await cluster.worlds.list({ namespace })).items
    .filter(({ metadata }) => metadata.name === changed || metadata.name === created)
    .map(({ spec }) => spec.runId)
  const status = await eventually('all findings', async () => {
    const seen = await readStatus()
    return seen.findings.length >= 3 && seen
  })
  expect(status.counts).toEqual({ frozen: 1, orphans: 2, strangers: 0 })
  expect(await (await fetch(api.metricsUrl)).text()).toMatch(/^orrery_orphans\{kind="World"\} 1$/m)
  // One missing resource is below the limit of a sweep.
  await cluster.world(namespace, deleted).exists()

  expect(sync('adopt', 'no-such-world')).toMatchObject({ status: 1, text: expect.stringContaining('is not an orphan') })
  expect(sync('release', '--all')).toEqual({ status: 0, text: `${namespace}/${changed} is released.\n` })
  const adoption = [created, bots].map((name) => `${namespace}/${name} is adopted.\n`)
  expect(sync('adopt', '--all')).toEqual({ status: 0, text: adoption.join('') })
  expect(await commandRecords(tenant)).toEqual([
    `orrery sync adopt adoptBotDeployment ${bots}`,
    `orrery sync adopt adoptWorld ${created}`,
    `orrery sync release releaseWorld ${changed}`,
  ])
  await eventually('the settings are back', async () => {
    const [first, second] = [await world(tenant, changed), await world(tenant, created)]
    return first.name === 'Changed later' && second.name === 'Created later'
  })
  await isSettled()
  await isResolved()
  const after = [await world(tenant, changed), await world(tenant, created)]
  expect(after.map(({ status: { runId } }) => runId).sort()).toEqual([...runs].sort())
  expect([await podUid(namespace, changed), await podUid(namespace, created)]).toEqual(uids)
  const adopted = await tenant.rest.call<{ configuration: { count: number } }>(
    'GET',
    `/api/worlds/${created}/bots/${bots}/`,
  )
  expect([adopted.status, adopted.body.configuration.count]).toEqual([200, 2])
  await tenant.rest.call('PATCH', `/api/worlds/${changed}/`, { name: 'Later still' })
  await eventually('REST writes reach the cluster again', async () => {
    const live = await cluster.world(namespace, changed).find()
    return live?.spec.displayName === 'Later still'
  })
})

test('a frozen row can keep its own settings, an orphan can be removed, and a frozen row can be deleted', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const [kept = '', ended = ''] = await Promise.all([tenant.world({ name: 'Kept' }), tenant.world()])
  await isSettled()
  let orphan = ''
  await withRestoreAfter(async () => {
    orphan = await tenant.world()
    for (const name of ['Changed', 'Changed again']) {
      for (const id of [kept, ended]) await tenant.rest.call('PATCH', `/api/worlds/${id}/`, { name })
    }
    await isSettled()
  })
  await eventually('the findings', async () => (await readStatus()).findings.length === 3)
  await tenant.rest.call('DELETE', `/api/worlds/${ended}/`)
  await cluster.world(namespace, ended).isGone()
  expect(sync('release', '--keep-row', `${namespace}/${kept}`)).toEqual({
    status: 0,
    text: `${namespace}/${kept} is released.\n`,
  })
  expect(sync('remove', orphan)).toEqual({ status: 0, text: `${namespace}/${orphan} is removed.\n` })
  expect(await commandRecords(tenant)).toEqual([
    `orrery sync release releaseWorld ${kept}`,
    `orrery sync remove removeWorld ${orphan}`,
  ])
  await cluster.world(namespace, orphan).isGone()
  await eventually('the name of the row is back', async () => {
    const live = await cluster.world(namespace, kept).find()
    return live?.spec.displayName === 'Kept'
  })
  await isSettled()
  await isResolved()
})

test('an orphan whose id a copy elsewhere has too is adopted once the copy is deleted, as the command says', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const elsewhere = 'copies-of-worlds'
  cluster.kubectl('create', 'namespace', elsewhere)
  let created = ''
  await withRestoreAfter(async () => {
    created = await tenant.world({ name: 'Created later' })
    await isSettled()
    const { spec } = await cluster.worlds.get({ namespace, name: created })
    const metadata = { namespace: elsewhere, name: created }
    await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec })
  })
  await eventually('the finding', async () => (await readStatus()).findings.length === 1)
  const refusal =
    `${namespace}/${created} is not adopted: ${elsewhere}/${created} has the id ${created} too. ` +
    'Delete the one that the API did not make with kubectl, and adopt again.'
  expect(sync('adopt', '--all')).toMatchObject({ status: 1, text: expect.stringContaining(refusal) })
  expect((await tenant.rest.call('GET', `/api/worlds/${created}/`)).status).toBe(404)

  cluster.kubectl('-n', elsewhere, 'delete', 'world', created)
  expect(sync('adopt', '--all')).toEqual({ status: 0, text: `${namespace}/${created} is adopted.\n` })
  await isSettled()
  await isResolved()
  expect((await world(tenant, created)).name).toBe('Created later')
})

test('an orphan is adopted under its own id, whatever its labels say', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  const byHand = 'made-by-hand'
  let [created, adopted] = ['', '']
  await withRestoreAfter(async () => {
    created = await tenant.world({ name: 'Created later' })
    // The push of the world creates the namespace.
    await isSettled()
    const metadata = { namespace, name: byHand, labels: { [labels.project]: tenant.scope.projectId } }
    const spec = { displayName: 'Made by hand' }
    await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec })
    adopted = await eventually('the id', async () => {
      const { metadata: seen, status } = await cluster.worlds.get({ namespace, name: byHand })
      return seen.finalizers?.includes(apiFinalizer) && status?.worldId
    })
    await isSettled()
    for (const name of [created, byHand]) {
      cluster.kubectl('-n', namespace, 'label', '--overwrite', 'world', name, `${labels.worldId}=wld-${'0'.repeat(26)}`)
    }
  })
  await eventually('the findings', async () => (await readStatus()).findings.length === 2)
  expect(sync('adopt', '--all').status).toBe(0)
  await isSettled()
  await isResolved()
  const names = [await world(tenant, created), await world(tenant, adopted)].map(({ name }) => name)
  expect(names).toEqual(['Created later', 'Made by hand'])
})

test('a run that only the status of an orphan has goes on after its adoption, as a granted run', async () => {
  const tenant = await aTenant(api.url)
  const namespace = namespaceOf(tenant)
  let created = ''
  await withRestoreAfter(async () => {
    created = await tenant.world({ name: 'Created later' })
    await tenant.rest.call('POST', `/api/worlds/${created}/start/`)
    await isSettled()
    await cluster.pod(namespace, created).exists()
    await cluster.pod(namespace, created).becomesReady()
    await eventually('Active', async () => (await world(tenant, created)).status.phase === 'Active')
  })
  const read = () => cluster.worlds.get({ namespace, name: created })
  await eventually('the finding', async () => (await readStatus()).findings.length === 1)
  const [{ spec, status }, uid] = [await read(), await podUid(namespace, created)]
  await cluster.worlds.patch({ namespace, name: created }, { spec: { granted: null } })
  expect(sync('adopt', created)).toEqual({ status: 0, text: `${namespace}/${created} is adopted.\n` })
  await isSettled()
  await isResolved()
  const adopted = await read()
  expect(adopted.spec).toMatchObject({ runId: spec.runId, granted: spec.granted })
  expect(adopted.status?.run).toEqual(status?.run)
  expect(await podUid(namespace, created)).toBe(uid)
  expect((await world(tenant, created)).status).toMatchObject({ phase: 'Active', runId: spec.runId })
})

test('an organization that the restored database does not know is listed by its worlds, and is adopted with them', async () => {
  let tenant: Tenant | undefined
  let [lost, deleted] = ['', '']
  await withRestoreAfter(async () => {
    tenant = await aTenant(api.url)
    const { organizationId } = tenant.scope
    await tenant.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, { maxNodePorts: 7 })
    lost = await tenant.world({ name: 'Of the lost one' })
    deleted = await tenant.world({ name: 'Deleted meanwhile' })
    await tenant.rest.call('POST', `/api/worlds/${lost}/start/`)
    await isSettled()
    await podUid(namespaceOf(tenant), lost)
  })
  if (tenant === undefined) throw new Error('No organization was created.')
  const { rest, scope } = tenant
  const namespace = namespaceOf(tenant)
  const uid = await podUid(namespace, lost)
  const { runId } = (await cluster.worlds.get({ namespace, name: lost })).spec
  await cluster.worlds.delete({ namespace, name: deleted })
  await eventually('the findings', async () => (await readStatus()).findings.length === 2)
  const problem = 'neither it nor its organization has a row'
  expect(sync('status').text).toMatch(new RegExp(`^Orphan World ${namespace}/${lost} .*${problem}`, 'm'))
  expect(await (await fetch(api.metricsUrl)).text()).toMatch(/^orrery_orphans\{kind="World"\} 2$/m)
  expect(sync('remove', lost)).toMatchObject({ status: 1, text: expect.stringContaining('Adopt it') })

  expect(sync('adopt', lost)).toEqual({ status: 0, text: `${namespace}/${lost} is adopted.\n` })
  await cluster.world(namespace, deleted).isGone()
  await isResolved()
  await isSettled()
  const organization = await rest.call<{ name: string }>('GET', '/api/organizations/current/')
  expect([organization.status, organization.body.name]).toEqual([200, scope.organizationId])
  const usage = await rest.call<{ limits: { maxNodePorts: number } }>('GET', '/api/organizations/current/usage/')
  expect(usage.body).toMatchObject({ maxNodePorts: { limit: 7 } })
  expect(await commandRecords(tenant)).toEqual([
    `orrery sync adopt adoptOrganization ${scope.organizationId}`,
    `orrery sync adopt adoptWorld ${lost}`,
  ])
  const projects = await rest.call<{ documentId: string; name: string }[]>('GET', '/api/organizations/projects/')
  expect(projects.body.map(({ name }) => name)).toEqual(['default'])
  const inProject = createRest(api.url, { ...scope, projectId: projects.body[0]?.documentId ?? '' })
  const adopted = await eventually('the settings', async () => {
    const { body } = await inProject.call<WorldBody>('GET', `/api/worlds/${lost}/`)
    return body.name === 'Of the lost one' && body
  })
  expect(adopted.status.runId).toBe(runId)
  expect(await podUid(namespace, lost)).toBe(uid)
})

const programs = findPostgresTools(process.env)
const operations = readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8')

/** Starts the API of this file on a Postgres that comes with its tools. They run as docs/operations.md says. */
const moveToOtherPostgres = async () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-backup-'))
  const options = { logDir: getServers().logDir, durable: false, progress: () => undefined }
  const postgres = await startPostgres({ ...options, dir, ...withDefined({ programs }) })
  await api.stop()
  await cluster.removeLeftovers()
  await createDatabase(postgres.adminUrl, 'orrery')
  databaseUrl = postgres.url('orrery')
  api = await startApi({ databaseUrl })
  onTestFinished(async () => {
    await api.stop()
    await postgres.stop()
    forgetPostgres(dir)
  })
  const runDocumented = (program: string): void => {
    const [command = ''] = new RegExp(`^ *${program} -.*$`, 'm').exec(operations) ?? []
    const env = { PATH: `${programs}:/usr/bin:/bin`, OWNER_URL: databaseUrl, ADMIN_URL: postgres.adminUrl }
    execFileSync('sh', ['-ec', command], { cwd: dir, env, timeout: 60_000, stdio: ['ignore', 'pipe', 'pipe'] })
  }
  const lose = () =>
    inSession(postgres.adminUrl, (session) => session.query('drop database orrery with (force)').then(() => undefined))
  return { runDocumented, lose }
}

test.skipIf(programs === undefined)(
  'a lost database is restored from its dump by the documented commands, and the running worlds go on',
  async () => {
    const { runDocumented, lose } = await moveToOtherPostgres()
    const tenant = await aTenant(api.url)
    const namespace = namespaceOf(tenant)
    const reader = await tenant.withKey([`${tenant.paths.project}/**:r`])
    const [kept = '', deleted = ''] = await Promise.all([tenant.world(), tenant.world({ name: 'Deleted later' })])
    await tenant.rest.call('POST', `/api/worlds/${kept}/start/`)
    await isSettled()
    runDocumented('pg_dump')

    const created = await tenant.world({ name: 'Created later' })
    await tenant.rest.call('POST', `/api/worlds/${created}/start/`)
    await tenant.rest.call('PATCH', `/api/worlds/${kept}/`, { name: 'Changed later' })
    await tenant.rest.call('DELETE', `/api/worlds/${deleted}/`)
    await isSettled()
    await cluster.world(namespace, deleted).isGone()
    const uids = [await podUid(namespace, kept), await podUid(namespace, created)]
    await lose()
    await eventually('the API is not ready', async () => (await fetch(`${api.url}/readyz`)).status === 503)
    const port = Number(new URL(api.url).port)
    await api.stop()
    for (const program of ['createdb', 'pg_restore']) runDocumented(program)
    api = await startApi({ databaseUrl, port })

    await eventually('all findings', async () => (await readStatus()).findings.length >= 2)
    expect((await readStatus()).counts).toEqual({ frozen: 1, orphans: 1, strangers: 0 })
    expect(sync('release', '--all')).toEqual({ status: 0, text: `${namespace}/${kept} is released.\n` })
    expect(sync('adopt', '--all')).toEqual({ status: 0, text: `${namespace}/${created} is adopted.\n` })
    await eventually('the newer settings are back', async () => {
      const [first, second] = [await world(tenant, kept), await world(tenant, created)]
      return first.name === 'Changed later' && second.name === 'Created later'
    })
    await isSettled()
    await isResolved()
    await cluster.world(namespace, deleted).exists()
    expect([await podUid(namespace, kept), await podUid(namespace, created)]).toEqual(uids)
    expect((await reader.call('GET', `/api/worlds/${kept}/`)).status).toBe(200)
  },
)
