import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import type { RunningStack } from '#test/support/npmStart.ts'
import { inNewProject } from '#test/support/rest.ts'
import { patience } from '#test/support/wait.ts'

/** Defines the tests of a world that is run from the console, on the real node of a stack. */
export const testConsole = (stackOf: () => RunningStack) =>
  describeConsole('in the console, a world', () => {
    const consoles = aConsole(() => stackOf().info.apiUrl)

    test('is started and read, shows that a deleted pod is replaced, is stopped and deleted, and comes back', async () => {
      const { apiUrl, rootApiKey, kubectl, kubeconfig } = stackOf().info
      const client = await inNewProject(apiUrl, rootApiKey)
      const { organizationId, projectId } = client.scope
      const world = { name: 'Lobby', transient: false }
      const { worldId } = (await client.call<{ worldId: string }>('POST', '/api/worlds/', world)).body
      const key = { displayName: 'console', permissions: [`organizations/${organizationId}/**:w`] }
      const { apiKey } = (await client.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', key)).body
      const { page, signIn } = await consoles.open({
        path: `organizations/${organizationId}/projects/${projectId}/worlds/${worldId}/`,
        // The deleted world, and a restore while the cluster still removes it.
        mayLog: [/status of 40[49]/],
      })
      // A server starts and drains in this time.
      page.setDefaultTimeout(60_000 * patience)
      const isIn = (phase: string) => page.locator(`.world-head .phase-${phase.toLowerCase()}`).waitFor()
      const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
      const panel = page.getByRole('tabpanel')
      await signIn(apiKey)
      await isIn('Inactive')
      await press('Start')
      await isIn('Active')

      await page.getByRole('tab', { name: 'Logs' }).click()
      await panel.getByText('"message":"ready"').first().waitFor()

      const inNamespace = ['--kubeconfig', kubeconfig, '-n', `orrery-${organizationId}`]
      execFileSync(kubectl, [...inNamespace, 'delete', 'pod', worldId, '--grace-period=0', '--force'])
      // The run goes on with another server.
      await page.getByRole('tab', { name: 'Events' }).click()
      await panel.getByRole('row').filter({ hasText: 'The server is ready at' }).nth(1).waitFor()
      await page.getByRole('tab', { name: 'Runs' }).click()
      await panel.getByRole('row').filter({ hasText: 'Running' }).waitFor()
      expect(await panel.getByRole('row').count()).toBe(2)
      await isIn('Active')

      await page.getByRole('tab', { name: 'Now' }).click()
      await press('Stop')
      await isIn('Stopped')
      await press('Delete')
      await page.getByRole('alert').getByText('This world was deleted.').waitFor()
      await press('Undo the deletion')
      await isIn('Inactive')
      await page.getByRole('heading', { name: 'Lobby' }).waitFor()
    })
  })
