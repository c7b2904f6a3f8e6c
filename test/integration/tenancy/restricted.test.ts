import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { createRest } from '#test/support/rest.ts'
import { operations } from './matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './support.ts'

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix?.stop())

/** The writing operations. Those that delete what the others need come last, the largest scope at the end. */
const last = ['actOnWorlds', 'deleteWorld', 'deleteProject']
const rankOf = ({ operationId, method }: Endpoint): number =>
  last.includes(operationId) ? 2 + last.indexOf(operationId) : method === 'delete' ? 1 : 0
const writes = operations
  .filter(([, { method, platformOnly }]) => method !== 'get' && !platformOnly)
  .toSorted(([, a], [, b]) => rankOf(a) - rankOf(b))

/**
 * The things that a restricted credential may not make, since they would outlive it. Nothing else may give access or send data out.
 * The URL of a webhook is another, which the requests of the matrix do not change.
 */
const refused = ['createApiKey', 'createWebhook', 'rotateWebhook', 'patchApiKey', 'rotateApiKey', 'putGroups']
/** The things that a restricted credential makes and that end with it. */
const ending = ['createRealtimeTicket', 'createToken']
const secretNames = /"(apiKey|keyString|accessToken|secret|ticket)":/

const restrictions = [
  ['expires', { expiresAt: new Date(Date.now() + 600_000).toISOString() }],
  ['has allowed networks', { allowedNetworks: ['127.0.0.0/8', '::1/128'] }],
] as const

/** Sends each writing request with a key. Returns the status and the text of each response. */
const writeAll = async ({ tenant, ids }: FullTenant, restriction: object) => {
  const body = {
    displayName: 'Restricted',
    permissions: [`${tenant.paths.organization}/**:*`],
    claims: { createOrganization: true, largeWorlds: true, worldServer: true },
    ...restriction,
  }
  const made = await tenant.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body)
  const { apiKey } = made.body
  const answers = new Map<string, { status: number; text: string }>()
  for (const [name, endpoint] of writes) {
    const { status, text } = await matrix.request(endpoint, ids, { apiKey })
    answers.set(name, { status, text })
  }
  return answers
}

test.each(restrictions)(
  'a key that %s makes nothing that outlives it, over the table of routes',
  async (_, restriction) => {
    const free = await writeAll(await matrix.aFullTenant('free'), {})
    const restricted = await writeAll(await matrix.aFullTenant('restricted'), restriction)
    const differing = writes
      .map(([name]) => name)
      .filter((name) => free.get(name)?.status !== restricted.get(name)?.status)
    expect(differing.toSorted()).toEqual(refused.toSorted())
    expect(new Set(refused.map((name) => restricted.get(name)?.status))).toEqual(new Set([403]))
    const shown = [...restricted].filter(([, { text }]) => secretNames.test(text)).map(([name]) => name)
    expect(shown.toSorted()).toEqual(ending)
  },
)

test('a token that a key makes which expires, expires no later', async () => {
  const { tenant } = await matrix.aFullTenant('token')
  const expiresAt = new Date(Date.now() + 30_000).toISOString()
  const body = { displayName: 'Short', permissions: [`${tenant.paths.organization}/**:*`], expiresAt }
  const { apiKey } = (await tenant.rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', body)).body
  const rest = createRest(matrix.url, tenant.scope, apiKey)
  const made = await rest.call<{ expiresAt: string; accessToken: string }>('POST', '/api/users/user-7/tokens/', {
    durationMinutes: 60,
    permissions: [`${tenant.paths.organization}/**:*`],
  })
  expect(Date.parse(made.body.expiresAt)).toBeLessThanOrEqual(Date.parse(expiresAt))
  // A token expires, so it cannot make what its key cannot.
  const withToken = createRest(matrix.url, tenant.scope, { token: made.body.accessToken })
  const webhooks = await tenant.rest.call<{ documentId: string }[]>('GET', '/api/webhooks/')
  const path = `/api/webhooks/${webhooks.body[0]?.documentId}/`
  expect((await withToken.call('PATCH', path, { url: 'https://hooks.example.com/mine' })).status).toBe(403)
  expect((await withToken.call('PATCH', path, { isActive: false })).status).toBe(200)
})
