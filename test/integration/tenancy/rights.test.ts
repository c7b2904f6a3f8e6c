import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { OperationId } from '#client/types.ts'
import { type Rights, refusalOf } from '#console/state/rights.ts'
import { absent, type Credential, operations } from './matrix.ts'
import { type FullTenant, type Matrix, startMatrix } from './support.ts'

let matrix: Matrix
let owner: FullTenant
beforeAll(async () => {
  matrix = await startMatrix()
  owner = await matrix.aFullTenant('rights')
})
afterAll(() => matrix?.stop())

/** The operations of worlds and bots whose permission depends on the request. */
const undeclared = ['actOnWorlds', 'countWorlds', 'listScalingProfiles', 'listWorlds']
const ofWorlds = operations.filter(([name, { tag }]) => ['Worlds', 'Bots'].includes(tag) && !undeclared.includes(name))
const ofOrganizations = operations.filter(([, { tag, needs }]) => needs?.[0] === 'organization' && tag !== 'Worlds')
const levels = ['organization', 'project', 'world'] as const

describe('the console offers an operation exactly where the API does not refuse it', () => {
  /** Returns the operations for which the console and the API differ, with what they say. */
  const differing = async (kind: Rights['kind'], permissions: string[], credential: Credential) => {
    const found: unknown[] = []
    for (const [name, endpoint] of ofWorlds) {
      // A write that is not refused fails at the precondition.
      const headers = endpoint.method === 'get' ? {} : { 'if-match': '"other.tag"' }
      const { status, text } = await matrix.request(endpoint, owner.ids, credential, headers)
      const refusal = refusalOf({ kind, permissions, claims: {} }, name as OperationId, owner.ids)
      // Without any verb on the scope, the refusal is a 404.
      if ([403, 404].includes(status) !== (refusal !== undefined)) {
        found.push({ kind, permissions, name, status, text, refusal })
      }
    }
    return found
  }

  test('of the organization itself', async () => {
    const { tenant, ids } = owner
    const { organizationId, projectId } = ids
    const callers: [Rights['kind'], string[], Credential][] = []
    for (const verb of [':r', ':w', ':*', '/**:r', '/**:w', '/**:*']) {
      const permissions = [`${tenant.paths.organization}${verb}`]
      callers.push(['key', permissions, { apiKey: await tenant.key(permissions) }])
      callers.push(['user', permissions, { token: await tenant.token(ids.userId, permissions) }])
    }
    expect(ofOrganizations.length).toBeGreaterThan(20)
    for (const [kind, permissions, credential] of callers) {
      for (const [name, endpoint] of ofOrganizations) {
        const refusal = refusalOf({ kind, permissions, claims: {} }, name as OperationId, ids)
        // A write that is not refused has no body that can be read, or names nothing that exists.
        const isHarmless = refusal !== undefined || endpoint.body !== undefined || endpoint.upload !== undefined
        const target = isHarmless ? ids : { ...absent(ids), organizationId, projectId }
        const headers = endpoint.method === 'get' ? {} : { 'content-type': 'text/plain' }
        const { status, text } = await matrix.request(endpoint, target, credential, headers)
        const expected = [name, kind, permissions, text, refusal !== undefined]
        expect([name, kind, permissions, text, status === 403]).toEqual(expected)
      }
    }
  })

  test.each(levels)('to a key and a token with a permission on the %s', async (level) => {
    const { tenant, ids } = owner
    const { organization, project } = tenant.paths
    const path = { organization, project, world: `${project}/worlds/${ids.worldId}` }[level]
    const held = [':r', ':w', ':*', '/**:r', '/**:w', '/**:*'].map((verb) => [`${path}${verb}`])
    const keys = await Promise.all(held.map((each) => tenant.key(each)))
    const tokens = await Promise.all(held.map((each) => tenant.token(ids.userId, each)))
    await matrix.changingNothing(async () => {
      for (const [at, permissions] of held.entries()) {
        const ofKey = differing('key', permissions, { apiKey: keys[at] ?? '' })
        const ofToken = differing('user', permissions, { token: tokens[at] ?? '' })
        expect([...(await ofKey), ...(await ofToken)]).toEqual([])
      }
    })
  })
})
