import { afterAll, beforeAll, expect, test } from 'vitest'
import { aConsole, describeConsole } from '#test/support/consolePage.ts'
import { createRest } from '#test/support/rest.ts'
import { type Fleet, startFleet } from './fleet.ts'

// `tenancy/rights.test.ts` compares each operation. Here are the buttons.
describeConsole('the console enables a button exactly where the API does not refuse its request', () => {
  let fleet: Fleet
  let deleted: string
  beforeAll(async () => {
    fleet = await startFleet()
    deleted = await fleet.tenant.world({ name: 'Ruin' })
    await fleet.tenant.rest.call('DELETE', `/api/worlds/${deleted}/`)
  })
  afterAll(() => fleet?.stop())
  const consoles = aConsole(() => fleet.origin)

  /** Requests that change nothing of a world: their precondition fails, or it does not exist. */
  const requests: Record<string, (id: string) => [method: string, path: string]> = {
    start: (id: string) => ['POST', `/api/worlds/${id}/start/`],
    stop: (id: string) => ['POST', `/api/worlds/${id}/stop/`],
    delete: (id: string) => ['DELETE', `/api/worlds/${id}/`],
    edit: (id: string) => ['PATCH', `/api/worlds/${id}/`],
    restore: () => ['POST', `/api/worlds/wld-${'0'.repeat(26)}/restore/`],
    editKey: (id) => ['PATCH', `/api/organizations/apiKeys/${id}/`],
    testWebhook: (id) => ['POST', `/api/webhooks/${id}/test/`],
  }

  test.each(['r', 'w', '*'])('to a key with the verb %s on the organization', async (verb) => {
    const { scope, rest, key, paths } = fleet.tenant
    const { lobby, arena } = fleet.worlds
    const apiKey = await key([`${paths.organization}/**:${verb}`])
    const url = 'https://hooks.example.test/'
    const webhook = await rest.call<{ documentId: string }>('POST', '/api/webhooks/', { url })
    const { body: keys } = await rest.call<{ documentId: string }[]>('GET', '/api/organizations/apiKeys/')
    const caller = createRest(fleet.origin, scope, apiKey)
    const { page, signIn } = await consoles.open({ path: `organizations/${scope.organizationId}/` })
    await signIn(apiKey)
    const openWorld = async (name: string): Promise<void> => {
      await page.getByRole('link', { name: 'Worlds', exact: true }).click()
      await page.getByRole('table', { name: 'Worlds' }).getByRole('link', { name, exact: true }).click()
    }
    const openPage = async (name: string): Promise<void> => {
      await page.getByRole('link', { name: 'Organization', exact: true }).click()
      await page.getByRole('link', { name, exact: true }).click()
    }
    for (const [show, name, kind, id] of [
      [() => openWorld('Lobby'), 'Start', 'start', lobby],
      [() => undefined, 'Delete', 'delete', lobby],
      [() => page.getByRole('tab', { name: 'Settings' }).click(), 'Edit the settings', 'edit', lobby],
      [() => openWorld('Arena'), 'Restart', 'start', arena],
      [() => undefined, 'Stop', 'stop', arena],
      [() => openPage('Deleted'), 'Restore Ruin', 'restore', ''],
      [() => openPage('Keys'), 'Delete Test', 'editKey', keys[0]?.documentId ?? ''],
      [() => openPage('Webhooks'), 'Send a test message', 'testWebhook', webhook.body.documentId],
    ] as const) {
      await show()
      const [method, path] = requests[kind]?.(id) ?? ['', '']
      const body = { edit: { name: 'Taken' }, editKey: { displayName: 'Test' } }[kind as string]
      const { status } = await caller.call(method, path, body, { 'if-match': '"other.tag"' })
      const isPermitted = status !== 403
      const button = page.getByRole('button', { name, exact: kind !== 'testWebhook' }).first()
      // Where nothing can be read, the page says so, and has no button.
      const refused = page.getByText('This sign-in cannot read')
      await button.or(refused).first().waitFor()
      const isEnabled = (await button.count()) > 0 && !(await button.isDisabled())
      expect([name, status, isEnabled]).toEqual([name, status, isPermitted])
    }
  })
})
