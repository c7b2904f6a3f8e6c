import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { credentialOf, type Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import {
  absent,
  absentId,
  type Credential,
  logReads,
  needsCredential,
  operations,
  type RequestIds,
  readsHeader,
  withoutPermission,
} from './matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './support.ts'

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix?.stop())

describe('a missing or invalid credential', () => {
  let victim: FullTenant
  const invalid: [string, Credential][] = []
  beforeAll(async () => {
    victim = await matrix.aFullTenant('victim')
    const { tenant, ids } = victim
    const everything = [`${tenant.paths.organization}/**:*`]
    const good = { apiKey: await tenant.key(everything), token: await tenant.token(ids.userId, everything) }
    const [revoked, inactive] = [await tenant.key(everything), await tenant.key(everything, { isActive: false })]
    const keys = await tenant.rest.call<{ documentId: string; keyString: string }[]>(
      'GET',
      '/api/organizations/apiKeys/',
    )
    const id = keys.body.find(({ keyString }) => keyString === revoked)?.documentId
    expect((await tenant.rest.call('DELETE', `/api/organizations/apiKeys/${id}/`)).status).toBe(204)
    const last = good.apiKey.at(-1) === 'a' ? 'b' : 'a'
    invalid.push(
      ['none', {}],
      ['a key that is no key', { apiKey: 'x' }],
      ['a key with another checksum', { apiKey: good.apiKey.slice(0, -1) + last }],
      ['a token that is no token', { token: 'a.b.c' }],
      ['a token as the key', { apiKey: good.token }],
      ['a key as the token', { token: good.apiKey }],
      ['an inactive key', { apiKey: inactive }],
      ['a revoked key', { apiKey: revoked }],
    )
  })

  test.each(needsCredential)('returns 401 for %s and changes nothing', async (_, endpoint) => {
    await matrix.changingNothing(async () => {
      for (const [which, credential] of invalid) {
        const answer = await matrix.request(endpoint, victim.ids, credential)
        expect([which, answer.status]).toEqual([which, 401])
        expect(answer.headers.get('www-authenticate')).toMatch(/^(ApiKey|Bearer)/)
      }
    })
  })

  test('of the other kind returns 403 for a token, and 401 where the token is missing', async () => {
    const { tenant, ids } = victim
    const everything = [`${tenant.paths.organization}/**:*`]
    const [apiKey, token] = [await tenant.key(everything), await tenant.token(ids.userId, everything)]
    await matrix.changingNothing(async () => {
      for (const [name, endpoint] of needsCredential) {
        if (credentialOf(endpoint) === 'keyOrToken') continue
        const isForTokens = credentialOf(endpoint) === 'token'
        const answer = await matrix.request(endpoint, ids, isForTokens ? { apiKey } : { token })
        expect([name, answer.status]).toEqual([name, isForTokens ? 401 : 403])
        expect(answer.text).toContain(isForTokens ? 'The request has no token.' : 'accepts only an API key')
      }
    })
  })
})

describe('a token without permissions', () => {
  const statuses: Record<string, number> = { ...withoutPermission, listTravelLocations: 404, getWorldAccess: 200 }
  let own: FullTenant
  let token: string
  beforeAll(async () => {
    own = await matrix.aFullTenant('powerless')
    token = await own.tenant.token(own.ids.userId)
  })

  test.each(operations)(
    'is authenticated, and gets 404 from %s unless it needs no permission',
    async (name, endpoint) => {
      await matrix.changingNothing(async () => {
        const answer = await matrix.request(endpoint, own.ids, { token })
        expect([answer.status, answer.text]).toEqual([statuses[name] ?? 404, answer.text])
        if (name === 'listOrganizations') expect(answer.text).toBe('[]')
        if (name === 'getWorldAccess') expect(answer.text).toContain('"hasAccess":false')
      })
    },
  )
})

describe('the platform key', () => {
  let own: FullTenant
  beforeAll(async () => {
    own = await matrix.aFullTenant('absent')
  })
  const levels: [string, (of: RequestIds) => RequestIds, (endpoint: Endpoint) => boolean][] = [
    ['organization', absent, ({ scope = 'none' }) => readsHeader.organization(scope)],
    [
      'project',
      (of) => ({ ...of, projectId: absentId('project') }),
      ({ scope = 'none' }) => readsHeader.project(scope),
    ],
    ['world', (of) => ({ ...of, worldId: absentId('world') }), ({ path }) => path.includes('{worldId}')],
  ]
  const absences = levels.flatMap(([level, without, isAffected]) =>
    operations
      .filter(([, endpoint]) => endpoint.credential !== 'token' && isAffected(endpoint))
      .map(([name, endpoint]): [string, string, Endpoint, typeof without] => [name, level, endpoint, without]),
  )
  test.each(absences)('gets 404 from %s for an absent %s and changes nothing', async (_, __, endpoint, without) => {
    await matrix.changingNothing(async () => {
      expect((await matrix.request(endpoint, without(own.ids), { apiKey: rootApiKey })).status).toBe(404)
    })
  })
})

describe('a key or token that only reads', () => {
  let own: FullTenant
  let credentials: Required<Credential>
  beforeAll(async () => {
    own = await matrix.aFullTenant('read')
    const permissions = [`${own.tenant.paths.organization}/**:r`]
    credentials = {
      apiKey: await own.tenant.key(permissions),
      token: await own.tenant.token(own.ids.userId, permissions),
    }
  })

  /** These need `*` on the organization, the sync and the platform need the platform key, and logs need the verb `w`. */
  const needsMore = [
    ...['listAuditRecords', 'listWebhooks', 'getWebhook', 'listWebhookDeliveries', 'getGroups', 'getSyncStatus'],
    'listPlatformAuditRecords',
    ...logReads,
  ]
  // A wake leaves a world that does not sleep as it is.
  const readsByPost = ['resolveBuildAndContent', 'createRealtimeTicket', 'wakeWorld']

  // A sign-in needs no credential, and writes nothing of an organization.
  test.each(operations.filter(([, { credential, tag }]) => credential !== 'token' && tag !== 'Sign-in'))(
    'may read but not write by %s',
    async (name, endpoint) => {
      const mayRead = (endpoint.method === 'get' && !needsMore.includes(name)) || readsByPost.includes(name)
      const { apiKey, token } = credentials
      await matrix.changingNothing(
        async () => {
          for (const credential of [{ apiKey }, { token }]) {
            const answer = await matrix.request(endpoint, own.ids, credential)
            // A bulk action has a status for each world.
            const [result] =
              name === 'actOnWorlds' ? (JSON.parse(answer.text) as { results: { status: number }[] }).results : []
            const status = result?.status ?? answer.status
            const succeeds = mayRead && !('token' in credential && credentialOf(endpoint) === 'key')
            // No server runs.
            const success = name === 'readWorldMetrics' ? 409 : (endpoint.status ?? 200)
            expect([status, answer.text]).toEqual([succeeds ? success : 403, answer.text])
          }
        },
        { addsTickets: name === 'createRealtimeTicket' },
      )
    },
  )

  const withBody = operations.filter(([, endpoint]) => endpoint.needs && (endpoint.body || endpoint.upload))
  test.each(withBody)('is refused by %s before the body is read', async (name, endpoint) => {
    // These operations need no more than reading, so their body is read.
    if (name === 'resolveBuildAndContent') return
    const { headers, ...target } = {
      method: endpoint.method.toUpperCase(),
      path: endpoint.path.replaceAll(/\{(\w+)\}/g, (_, param: keyof RequestIds) => own.ids[param]),
      headers: {
        'x-svc-organization-id': own.ids.organizationId,
        'x-svc-project-id': own.ids.projectId,
        'content-type': 'application/json',
      },
    }
    const token = await own.tenant.token('nobody')
    for (const [credential, status] of [
      [{ authorization: `Bearer ${credentials.token}` }, 403],
      [{ 'x-api-key': credentials.apiKey }, 403],
      // Without a permission on the scope, it is as absent.
      [{ authorization: `Bearer ${token}` }, 404],
    ] as const) {
      const answer = await send(matrix.url, { ...target, headers: { ...headers, ...credential }, body: '{"not json' })
      expect([name, answer.status]).toEqual([name, status])
    }
  })
})
