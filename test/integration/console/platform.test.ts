import { eq } from 'drizzle-orm'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { clusterStates, syncFindings } from '#api/domain/clusters/table.ts'
import { launchContexts, worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { clusterOutbox } from '#api/platform/outbox/table.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { type ApiProcess, aDatabase, rootApiKey, runOrrery, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const hostile = '<img src=x onerror=alert(1)> \u202egnp.exe'
const marker = '⟨U+202E⟩'

type Status = { readonly findings: readonly object[]; readonly clusters: readonly { heldSweeps: readonly object[] }[] }

/** Starts an API with a tenant whose worlds were frozen, orphaned, imitated and lost, and a second cluster that is refused. */
const startSickPlatform = async () => {
  const cluster = aCluster()
  // Resources of earlier files would be orphans.
  await cluster.removeLeftovers()
  const databaseUrl = await aDatabase()
  let api: ApiProcess = await startApi({ databaseUrl })
  const { db, close } = openDatabase({ url: databaseUrl, poolSize: 2 })
  const [tenant, other] = await Promise.all([aTenant(api.url), aTenant(api.url)])
  const namespace = `orrery-${tenant.scope.organizationId}`
  const [frozen = '', orphan = '', imitated = '', waiting = '', ...lost] = await Promise.all(
    Array.from({ length: 10 }, (_, at) => tenant.world({ name: `World ${at}` })),
  )
  await other.world()
  await tenant.rest.call('PATCH', `/api/worlds/${frozen}/`, { name: 'Later' })
  await eventually('no row is dirty', async () => (await db.select().from(clusterOutbox)).length === 0)
  await api.stop()

  await db.update(worlds).set({ revision: 1 }).where(eq(worlds.id, frozen))
  await db.delete(launchContexts).where(eq(launchContexts.worldId, orphan))
  await db.delete(worlds).where(eq(worlds.id, orphan))
  const { spec } = await cluster.worlds.get({ namespace, name: imitated })
  const elsewhere = { namespace: `orrery-${other.scope.organizationId}`, name: imitated }
  await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata: elsewhere, spec })
  for (const name of [...lost, waiting]) {
    await cluster.worlds.patch({ namespace, name }, { metadata: { finalizers: null } })
    await cluster.worlds.delete({ namespace, name })
  }
  await db.insert(clusterStates).values({
    name: hostile,
    uid: 'a-uid',
    version: '',
    refusal: 'AnotherCluster',
    refusedUid: hostile,
  })
  await db.update(worlds).set({ cluster: hostile }).where(eq(worlds.id, waiting))
  const markedAt = new Date(Date.now() - 3_600_000)
  await db.insert(clusterOutbox).values({ kind: 'world', id: waiting, revision: 2, nextAt: markedAt, markedAt })
  api = await startApi({ databaseUrl, port: Number(new URL(api.url).port) })
  const rest = createRest(api.url)
  await eventually('everything is found', async () => {
    const { findings, clusters } = (await rest.call<Status>('GET', '/api/sync/')).body
    return findings.length === 3 && clusters.some(({ heldSweeps }) => heldSweeps.length > 0)
  })
  return {
    url: api.url,
    db,
    tenant,
    other,
    namespace,
    ids: { frozen, orphan, imitated, waiting, lost },
    /** Runs a command as the shell does. */
    run: (command: string) => {
      const [, ...args] = command.split(' ')
      return runOrrery(args, { ORRERY_DATABASE_URL: databaseUrl, KUBECONFIG: getServers().apiKubeconfig })
    },
    stop: async (): Promise<void> => {
      await api.stop()
      await close()
      await cluster.removeLeftovers()
      await cluster.close()
    },
  }
}

describeConsole('the pages of the platform', () => {
  let platform: Awaited<ReturnType<typeof startSickPlatform>>
  beforeAll(async () => {
    platform = await startSickPlatform()
  })
  afterAll(() => platform?.stop())
  const consoles = aConsole(() => platform.url)
  const openAs = async (apiKey: string, options: Parameters<typeof consoles.open>[0] = {}) => {
    const opened = await consoles.open(options)
    await opened.signIn(apiKey)
    return opened
  }
  const row = (page: Page, text: string) => page.getByRole('row').filter({ hasText: text })
  const commandsIn = (page: Page, text: string) =>
    row(page, text)
      .locator('code')
      .filter({ hasText: /^(orrery|kubectl) / })
      .allTextContents()
  const setName = ({ rest, scope }: Tenant, name: string) =>
    rest.call('PATCH', `/api/organizations/${scope.organizationId}/`, { name })

  test('find an organization by a part of its name or id, lead to its worlds, and back', async () => {
    const { tenant, other } = platform
    await setName(tenant, `Acme ${hostile}`)
    await setName(other, 'Beta')
    const { page } = await openAs(rootApiKey)
    await row(page, 'Beta').waitFor()
    await row(page, tenant.scope.organizationId).getByText(marker).waitFor()
    expect(await page.title()).toBe('Organizations · Orrery')
    const filter = page.getByRole('searchbox', { name: 'Filter' })
    await filter.fill('nobody')
    await page.getByText('No organization matches the filter.').waitFor()
    await filter.fill(other.scope.organizationId.slice(-6))
    await row(page, tenant.scope.organizationId).waitFor({ state: 'detached' })
    await filter.fill('acme')
    await row(page, 'Beta').waitFor({ state: 'detached' })
    await expect.poll(() => page.url()).toMatch(/\/console\/\?q=acme$/)
    await page.getByRole('link', { name: 'Acme' }).click()
    await page.getByRole('link', { name: 'World 2' }).waitFor()
    expect(new URL(page.url())).toMatchObject({
      pathname: `/console/organizations/${tenant.scope.organizationId}/`,
      search: '',
    })
    expect(await page.getByRole('navigation', { name: 'Platform' }).count()).toBe(0)
    await page.getByRole('link', { name: 'All organizations' }).click()
    await row(page, 'Beta').waitFor()
  })

  test('read more organizations on demand', async () => {
    const { page, signIn } = await consoles.open()
    await page.route('**/api/organizations/?limit=500', (route) =>
      route.continue({ url: route.request().url().replace('500', '1') }),
    )
    await signIn(rootApiKey)
    await page.getByText('There are more organizations').waitFor()
    await page.getByText('1 organization', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Read more' }).click()
    await page.getByText('2 organizations', { exact: true }).waitFor()
    expect(await page.getByText('There are more organizations').count()).toBe(0)
  })

  test('show of each cluster its state, the rows that wait, and what is missing, with the commands', async () => {
    const { ids } = platform
    const { page } = await openAs(rootApiKey, { path: 'clusters/' })
    const sick = row(page, marker)
    await sick.getByText('Refused: another cluster').waitFor()
    await sick.getByText(`whose uid is <img src=x onerror=alert(1)> ${marker}gnp.exe.`).waitFor()
    await expect.poll(() => sick.getByRole('cell').nth(1).textContent()).toMatch(/^▲ 1The oldest for 1 h/)
    expect(await commandsIn(page, marker)).toEqual([
      `orrery sync accept --cluster '<img src=x onerror=alert(1)> ${marker}gnp.exe'`,
    ])
    const held = row(page, 'Accepted')
    await held.getByText('▲ 6 of 9 Worlds').waitFor()
    const examples = await held.getByRole('list', { name: 'Examples of a missing World' }).textContent()
    expect(ids.lost.some((id) => examples?.includes(id))).toBe(true)
    expect(await commandsIn(page, 'Accepted')).toEqual(['orrery sync accept --cluster default'])
  })

  test('list the findings with the commands that resolve each, and show when they are resolved', async () => {
    const { ids, namespace, other, run } = platform
    const { page } = await openAs(rootApiKey)
    await page.getByRole('link', { name: 'Findings', exact: true }).click()
    await page.getByText('1 frozen row, 1 orphan, 1 stranger.').waitFor()
    const of = (verb: string, id: string) => `orrery sync ${verb} --cluster default ${namespace}/${id}`
    expect(await commandsIn(page, ids.orphan)).toEqual([of('adopt', ids.orphan), of('remove', ids.orphan)])
    expect(await commandsIn(page, ids.imitated)).toEqual([
      `kubectl -n orrery-${other.scope.organizationId} delete world/${ids.imitated}`,
    ])
    const [release = '', keepRow] = await commandsIn(page, ids.frozen)
    expect([release, keepRow]).toEqual([of('release', ids.frozen), of('release --keep-row', ids.frozen)])
    await page.getByRole('searchbox', { name: 'Filter' }).fill('stranger')
    await row(page, ids.frozen).waitFor({ state: 'detached' })
    await page.getByText('1 of 3 findings').waitFor()
    await page.getByRole('searchbox', { name: 'Filter' }).fill('')
    expect(run(release)).toMatchObject({ status: 0 })
    await eventually('the page shows that it is resolved', async () => {
      await page.getByRole('button', { name: 'Read again' }).click()
      return (await page.getByText('0 frozen rows, 1 orphan, 1 stranger.').count()) === 1
    })
    expect(await row(page, ids.frozen).count()).toBe(0)
  })

  test('show what a resource is called without being misled, and not more findings than it reads', async () => {
    const { db } = platform
    const more = Array.from({ length: 120 }, (_, at) => ({
      id: `fnd-${at}`,
      cluster: hostile,
      type: 'Orphan' as const,
      kind: 'world' as const,
      namespace: hostile,
      name: `$(reboot)-${at}`,
      uid: `u-${at}`,
      message: `${hostile} Run "orrery sync remove".`,
      createdAt: new Date(Date.now() + at),
    }))
    await db.insert(syncFindings).values(more)
    try {
      const { page } = await openAs(rootApiKey, { path: 'findings/', width: 320 })
      await page.getByText('The oldest 100 are shown').waitFor()
      const visible = `<img src=x onerror=alert(1)> ${marker}gnp.exe`
      expect((await commandsIn(page, '$(reboot)-70'))[0]).toBe(
        `orrery sync remove --cluster '${visible}' '${visible}/$(reboot)-70'`,
      )
      await page.getByRole('button', { name: 'Show more' }).click()
      await row(page, '$(reboot)-119').waitFor()
      expect(await page.getByText('are shown').count()).toBe(0)
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    } finally {
      await db.delete(syncFindings).where(eq(syncFindings.cluster, hostile))
    }
  })

  test('name the command that compares each cluster, and how to run it', async () => {
    const { page } = await openAs(rootApiKey, { path: 'doctor/' })
    await page.getByText('orrery doctor --cluster default', { exact: true }).waitFor()
    await page.getByText('orrery doctor --fix --cluster default', { exact: true }).waitFor()
    await page.getByText(/^alias orrery='kubectl -n orrery exec deploy\/orrery-api/).waitFor()
  })

  test('keep what was read while the API does not answer, and say so', async () => {
    const { page } = await openAs(rootApiKey, { path: 'clusters/', mayLog: [/status of 503/] })
    await row(page, 'Accepted').waitFor()
    await page.route('**/api/sync/?*', (route) => route.fulfill({ status: 503, json: { detail: 'Down for a test.' } }))
    await page.getByRole('button', { name: 'Read again' }).click()
    await page.getByRole('alert').getByText('The clusters could not be loaded').waitFor()
    await row(page, 'Accepted').waitFor()
    await page.unroute('**/api/sync/?*')
    await page.getByRole('button', { name: 'Retry' }).click()
    await page.getByRole('alert').waitFor({ state: 'detached' })
  })

  test.each(['clusters', 'findings', 'doctor'])(
    'request nothing of /console/%s/ with the key of an organization',
    async (path) => {
      const { tenant } = platform
      const key = await tenant.key([`${tenant.paths.organization}/**:*`])
      const { page, requests } = await openAs(key, { path: `${path}/` })
      await page.getByText('Needs the platform key').waitFor()
      expect(await page.getByRole('navigation', { name: 'Platform' }).count()).toBe(0)
      await page.getByRole('link', { name: 'Worlds', exact: true }).click()
      await page.getByRole('link', { name: 'World 2' }).waitFor()
      expect(requests.filter((each) => each.includes('/api/sync/'))).toEqual([])
    },
  )

  test.each([
    ['light', 1280],
    ['dark', 390],
  ] as const)('have no violation of WCAG 2.2 A and AA in %s colours, %i pixels wide', async (colorScheme, width) => {
    const { page, violations } = await consoles.openForAxe({ colorScheme, width, path: 'clusters/' })
    await page.getByLabel('API key').fill(rootApiKey)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await row(page, 'Accepted').waitFor()
    for (const name of ['Clusters', 'Findings', 'Doctor', 'Organizations']) {
      await page.getByRole('link', { name, exact: true }).click()
      await page.getByRole('heading', { name, exact: true }).waitFor()
      await page.getByText('Read at').waitFor()
      expect.soft(await violations(), name).toEqual([])
    }
  })
})
