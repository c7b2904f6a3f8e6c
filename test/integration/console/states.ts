import type { Page } from 'playwright-core'
import type { SyncStatus } from '#client/operations.ts'
import { sendKey } from '#test/support/consolePage.ts'
import { rootApiKey } from '#test/support/processes.ts'
import type { Fleet } from './fleet.ts'

/** A page or state of the console, with the steps that show it. */
export type State = readonly [name: string, show: (page: Page) => Promise<unknown>]

/** A platform in need of an administrator. That of the tests is well. */
const aSickPlatform = ({ worlds: { lobby, arena, quarry }, tenant }: Fleet): SyncStatus => {
  const hourAgo = new Date(Date.now() - 3_600_000).toISOString()
  const uid = '6f1c2f0e-5c7b-4f59-8a6a-1f1d9a5d3c11'
  const finding = (type: SyncStatus['findings'][number]['type'], name: string, message: string) => {
    const place = { kind: 'World', cluster: 'eu', namespace: `orrery-${tenant.scope.organizationId}` } as const
    return { id: name, type, ...place, name, message, createdAt: hourAgo }
  }
  return {
    clusters: [
      {
        name: 'eu',
        uid,
        state: 'Accepted',
        message: '',
        dirtyRows: { count: 3, oldestSeconds: 2 },
        heldSweeps: [{ kind: 'World', missing: 12, total: 80, examples: [lobby, arena], heldAt: hourAgo }],
      },
      {
        name: 'us',
        uid,
        state: 'AnotherCluster',
        message: 'The API is connected to another cluster, whose uid is 0b51. Nothing is pushed or pulled.',
        dirtyRows: { count: 30, oldestSeconds: 4_000 },
        heldSweeps: [],
      },
    ],
    dirtyRows: { count: 34, oldestSeconds: 4_000 },
    counts: { frozen: 2, orphans: 130, strangers: 1 },
    findings: [
      finding(
        'Frozen',
        lobby,
        'The resource has a higher revision than its row. Run "orrery sync release" to continue.',
      ),
      finding('Orphan', arena, 'It has no row. Run "orrery sync adopt", or "orrery sync remove" to delete it.'),
      finding('Stranger', quarry, 'Another resource owns this name. Create this one under another name.'),
    ],
  }
}

/** Returns every page and state of the console, in an order in which each follows from the one before. The first page is the sign-in. */
export const statesOf = (fleet: Fleet): readonly State[] => [
  ['the sign-in', (page) => page.getByLabel('API key').waitFor()],
  [
    'a refused sign-in',
    async (page) => {
      await sendKey(page, 'wrong')
      await page.getByRole('alert').waitFor()
    },
  ],
  [
    'the organizations',
    async (page) => {
      await sendKey(page, rootApiKey)
      await page.getByRole('link', { name: 'Acme' }).first().waitFor()
    },
  ],
  [
    'the clusters',
    async (page) => {
      await page.route('**/api/sync/?*', (route) => route.fulfill({ json: aSickPlatform(fleet) }))
      await page.getByRole('link', { name: 'Clusters', exact: true }).click()
      await page.getByText('Refused: another cluster').waitFor()
    },
  ],
  [
    'the findings',
    async (page) => {
      await page.getByRole('link', { name: 'Findings', exact: true }).click()
      await page.getByText('130 orphans').waitFor()
    },
  ],
  [
    'the doctor',
    async (page) => {
      await page.getByRole('link', { name: 'Doctor', exact: true }).click()
      await page.getByText('orrery doctor --cluster us').waitFor()
      await page.unroute('**/api/sync/?*')
    },
  ],
  [
    'the fleet',
    async (page) => {
      const { organizationId } = fleet.tenant.scope
      await page.getByRole('link', { name: 'Organizations', exact: true }).click()
      await page.getByRole('row').filter({ hasText: organizationId }).getByRole('link').click()
      await page.getByRole('link', { name: 'Lobby' }).waitFor()
    },
  ],
  [
    'a filter without a match',
    async (page) => {
      await page.getByRole('searchbox', { name: 'Filter' }).fill('phsae:none')
      await page.getByText('No world matches the filter.').waitFor()
    },
  ],
  [
    'a lost connection',
    async (page) => {
      await page.getByRole('searchbox', { name: 'Filter' }).fill('')
      fleet.gate.close()
      await page.getByRole('alert').getByText('Not live since').waitFor()
    },
  ],
  [
    'a world that does not run',
    async (page) => {
      fleet.gate.open()
      await page.getByRole('status').getByText('Live').waitFor()
      await page.getByRole('link', { name: 'Forge' }).click()
      await page.getByRole('tabpanel').getByText('OutOfMemory').first().waitFor()
    },
  ],
  ...['Runs', 'Events'].map(
    (name): State => [
      name,
      async (page) => {
        await page.getByRole('tab', { name }).click()
        await page.getByRole('tabpanel').getByRole('table').waitFor()
      },
    ],
  ),
  [
    'a world that runs',
    async (page) => {
      await page.goBack()
      await page.goBack()
      await page.goBack()
      await page.getByRole('link', { name: 'Arena' }).click()
      await page.getByRole('tabpanel').getByText('10.0.0.7').first().waitFor()
    },
  ],
  [
    'a log',
    async (page) => {
      await page.getByRole('tab', { name: 'Logs' }).click()
      await page.getByText('hello').waitFor()
    },
  ],
  ...['Settings', 'History'].map(
    (name): State => [
      name,
      async (page) => {
        await page.getByRole('tab', { name }).click()
        await page.getByRole('tabpanel').getByRole('table').first().waitFor()
      },
    ],
  ),
  [
    'a launch',
    async (page) => {
      await page.getByRole('link', { name: 'Launch', exact: true }).click()
      await page.getByRole('heading', { name: '1 of 3 runs is active' }).waitFor()
    },
  ],
  [
    'a selection',
    async (page) => {
      await page.getByRole('link', { name: 'Worlds', exact: true }).click()
      await page.getByRole('checkbox', { name: 'Select Lobby' }).click()
      await page.getByRole('checkbox', { name: 'Select Arena' }).click()
      await page.getByRole('button', { name: 'Start 1', exact: true }).waitFor()
    },
  ],
  [
    'an action on many worlds',
    async (page) => {
      await page.getByRole('button', { name: 'Delete 2', exact: true }).click()
      await page.getByLabel('Type 2 to delete').waitFor()
    },
  ],
  [
    'Usage',
    async (page) => {
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Organization', exact: true }).click()
      await page.getByRole('link', { name: 'Link to the limit maxWorlds' }).waitFor()
    },
  ],
  ...(
    [
      ['Projects', fleet.tenant.scope.projectId],
      ['Keys', 'Test'],
      ['Webhooks', 'POST'],
      ['Deleted', 'No world of this project is deleted'],
      ['Audit', 'startWorld'],
    ] as const
  ).map(
    ([name, shown]): State => [
      name,
      async (page) => {
        await page.getByRole('link', { name, exact: true }).click()
        await page.getByRole('main').getByText(shown).first().waitFor()
      },
    ],
  ),
]
