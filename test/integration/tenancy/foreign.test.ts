import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeUnusedPictures } from '#api/domain/deletion/unusedPictures.ts'
import { credentialOf, type Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { openObjectStore } from '#api/platform/objects/open.ts'
import { systemClock } from '#shared/clock.ts'
import { createLog } from '#shared/log.ts'
import { rootApiKey } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'
import {
  absent,
  absentId,
  type Credential,
  findOperation,
  operations,
  png,
  type RequestIds,
  readsHeader,
  withoutPermission,
} from './matrix.ts'
import { comparable, type FullTenant, type Matrix, startMatrix } from './support.ts'

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix?.stop())

describe('the owner of another organization', () => {
  let victim: FullTenant
  let own: FullTenant
  let credential: Required<Credential>
  const claims = { largeWorlds: true, worldServer: true }
  beforeAll(async () => {
    ;[victim, own] = [await matrix.aFullTenant('foreign'), await matrix.aFullTenant('own')]
    const everything = [`${own.tenant.paths.organization}/**:*`]
    credential = {
      apiKey: await own.tenant.key(everything, { claims }),
      token: await own.tenant.token('user-7', everything),
    }
  })
  /** The credentials to try: a key and a token that may do everything in their own organization. */
  const allOf = (endpoint: Endpoint): Credential[] => [
    ...(credentialOf(endpoint) === 'token' ? [] : [{ apiKey: credential.apiKey }]),
    { token: credential.token },
  ]

  /** None of these operations concerns the victim. */
  const statuses: Record<string, number> = { ...withoutPermission, getWorldAccess: 200 }
  /** Keyless reads are open to all, so their responses for foreign and absent organizations differ. */
  const keyless = ['getOrganization', 'getOrganizationById']

  test.each(operations)(
    'gets the same response from %s for a foreign resource as for an absent one, and changes nothing',
    async (name, endpoint) => {
      await matrix.changingNothing(async () => {
        for (const each of allOf(endpoint)) {
          const foreign = await matrix.request(endpoint, victim.ids, each)
          expect([foreign.status, foreign.text]).toEqual([statuses[name] ?? 404, foreign.text])
          if (keyless.includes(name)) continue
          expect(comparable(foreign)).toEqual(comparable(await matrix.request(endpoint, absent(victim.ids), each)))
          expect(foreign.text).not.toContain(victim.ids.organizationId)
          expect(foreign.text).not.toContain(victim.ids.worldId)
        }
      })
    },
  )

  const inPath = operations.flatMap(([name, endpoint]) =>
    [...endpoint.path.matchAll(/\{(organizationId|worldId|botDeploymentId|apiKeyId|webhookId|deliveryId)\}/g)].map(
      ([, param]): [string, string, Endpoint] => [name, param ?? '', endpoint],
    ),
  )
  test.each(inPath)(
    'gets the same response from %s for a foreign %s in the path as for an absent one',
    async (name, param, endpoint) => {
      await matrix.changingNothing(async () => {
        const withOne = (of: RequestIds) => ({ ...own.ids, [param]: of[param as keyof RequestIds] })
        for (const each of allOf(endpoint)) {
          const ask = async (of: RequestIds) => {
            // The header names the stranger's organization, even if the path names another one.
            const headers = { 'x-svc-organization-id': own.ids.organizationId }
            return matrix.request(endpoint, withOne(of), each, headers)
          }
          const foreign = await ask(victim.ids)
          expect(foreign.status).toBe(name === 'getWorldAccess' ? 200 : 404)
          expect(comparable(foreign)).toEqual(comparable(await ask(absent(own.ids))))
        }
      })
    },
  )

  const withProject = operations.filter(([, { scope = 'none' }]) => readsHeader.project(scope))
  test.each(withProject)(
    'gets the same response from %s for a foreign project header as for an absent one',
    async (name, endpoint) => {
      await matrix.changingNothing(async () => {
        for (const each of allOf(endpoint)) {
          const ask = (projectId: string) => matrix.request(endpoint, { ...own.ids, projectId }, each)
          const foreign = await ask(victim.ids.projectId)
          expect(foreign.status).toBe(name === 'getWorldAccess' ? 200 : 404)
          expect(comparable(foreign)).toEqual(comparable(await ask(absentId('project'))))
        }
      })
    },
  )

  const documents = operations.filter(([, { path }]) => path.startsWith('/api/documents/'))
  test.each(documents)(
    'gets the same response from %s for a foreign world header or id as for absent ones',
    async (_, endpoint) => {
      await matrix.changingNothing(async () => {
        for (const each of allOf(endpoint)) {
          const inWorld = (worldId: string) => matrix.request(endpoint, own.ids, each, { 'x-svc-world-id': worldId })
          const foreign = await inWorld(victim.ids.worldId)
          expect(foreign.status).toBe(404)
          expect(comparable(foreign)).toEqual(comparable(await inWorld(absentId('world'))))
          const named = (id: string) => matrix.request(endpoint, { ...own.ids, id }, each)
          expect(comparable(await named(`World:${victim.ids.worldId}`))).toEqual(
            comparable(await named(`World:${absentId('world')}`)),
          )
        }
      })
    },
  )

  test('cannot name a foreign scope in the permissions of a key or a token', async () => {
    const { rest } = own.tenant
    const mine = { 'x-api-key': credential.apiKey }
    const foreign = (scope: { organizationId: string }) => [`organizations/${scope.organizationId}/**:r`]
    await matrix.changingNothing(async () => {
      for (const [path, more] of [
        ['/api/organizations/apiKeys/', { displayName: 'Theirs' }],
        ['/api/users/user-7/tokens/', {}],
      ] as const) {
        const ask = (of: { organizationId: string }) =>
          rest.call('POST', path, { ...more, permissions: foreign(of) }, mine)
        expect((await ask(victim.ids)).status).toBe(403)
        expect((await ask({ organizationId: absentId('organization') })).status).toBe(403)
      }
      const other = await rest.call('PATCH', '/api/organizations/projects/current/', {
        documentId: victim.ids.projectId,
      })
      expect(other.status).toBe(400)
    })
  })

  const pictureStatus = async (pictureUrl: string): Promise<number> =>
    (await fetch(new URL(new URL(pictureUrl).pathname, matrix.url))).status
  const leavingForeignPictures: [string, (worldId: string) => Promise<{ status: number }>][] = [
    ['clearing it', (worldId) => own.tenant.rest.call('PATCH', `/api/worlds/${worldId}/`, { pictureUrl: '' })],
    [
      'replacing it',
      (worldId) =>
        own.tenant.rest.call('PATCH', `/api/worlds/${worldId}/`, { pictureUrl: 'https://example.com/other.png' }),
    ],
    [
      'uploading over it',
      (worldId) =>
        matrix.request(findOperation('putWorldPicture'), { ...own.ids, worldId }, { apiKey: credential.apiKey }),
    ],
  ]
  test.each(leavingForeignPictures)(
    'removes no foreign picture by naming it in pictureUrl and %s',
    async (_, leave) => {
      const { tenant, ids } = victim
      for (const operationId of ['putWorldPicture', 'putOrganizationPicture']) {
        const uploaded = await matrix.request(findOperation(operationId), ids, { apiKey: rootApiKey })
        const { pictureUrl } = JSON.parse(uploaded.text) as { pictureUrl: string }
        const spellings = [
          pictureUrl,
          `${pictureUrl}/`,
          `${pictureUrl}?a`,
          pictureUrl.replace('/pictures/', '/pictures//'),
        ]
        for (const spelling of spellings) {
          const worldId = await own.tenant.world({ pictureUrl: spelling })
          expect((await leave(worldId)).status).toBeLessThan(300)
          expect(await pictureStatus(pictureUrl)).toBe(200)
        }
        const sibling = await tenant.world({ pictureUrl })
        expect((await tenant.rest.call('PATCH', `/api/worlds/${sibling}/`, { pictureUrl: '' })).status).toBe(200)
        expect(await pictureStatus(pictureUrl)).toBe(200)
      }
    },
  )

  test("keeps an upload that its owner's row names, for any public URL", async () => {
    const { db, close } = openDatabase({ url: matrix.databaseUrl, poolSize: 1 })
    const objects = await openObjectStore(pathToFileURL(await mkdtemp(join(tmpdir(), 'orrery-sweep-'))).href)
    const upload = async (worldId: string, digit: string) => {
      const name = `pictures/${worldId}/${digit.repeat(64)}.webp`
      await objects.put(name, png, 'image/webp')
      return name
    }
    const owner = await victim.tenant.world()
    const [kept, left] = [await upload(owner, 'a'), await upload(owner, 'b')]
    const urlOf = (name: string, host = 'api.example:8080') => `http://${host}/api/files/${name}`
    await victim.tenant.rest.call('PATCH', `/api/worlds/${owner}/`, { pictureUrl: urlOf(kept, 'before.example') })
    await own.tenant.world({ pictureUrl: urlOf(left) })
    const inTwoHours = { ...systemClock, now: () => systemClock.now() + 7_200_000 }
    const log = createLog({ name: 'test', level: 'error' })
    await removeUnusedPictures({ db, objects, clock: inTwoHours, log }, new AbortController().signal)
    await close()
    expect((await objects.list({ prefix: 'pictures/', limit: 10 })).map(({ name }) => name)).toEqual([kept])
  })

  test('gains nothing from a permission on a foreign project or world under their own organization', async () => {
    const { projectId, worldId } = victim.ids
    await victim.tenant.rest.call('POST', `/api/worlds/${worldId}/start/`)
    await matrix.execute(`update worlds set phase = 'Active' where id = '${worldId}'`)
    const beneath = `${own.tenant.paths.organization}/projects/${projectId}`
    const { rest } = own.tenant
    const made = await rest.call<{ apiKey: string }>(
      'POST',
      '/api/organizations/apiKeys/',
      { displayName: 'Crooked', permissions: [`${beneath}/**:*`, `${beneath}/worlds/${worldId}:*`] },
      { 'x-api-key': credential.apiKey },
    )
    const crooked = { 'x-api-key': made.body.apiKey }
    const theirs = await send(matrix.url, {
      method: 'GET',
      path: '/api/worlds/travel/locations/',
      headers: { 'x-api-key': rootApiKey },
    })
    expect(theirs.text).toContain(worldId)
    const travel = (headers: Record<string, string>) =>
      send(matrix.url, { method: 'GET', path: '/api/worlds/travel/locations/', headers: { ...crooked, ...headers } })
    expect(await travel({})).toMatchObject({ status: 200, text: '{"worlds":[]}' })
    const mine = { 'x-svc-organization-id': own.ids.organizationId }
    expect(await travel(mine)).toMatchObject({ status: 200, text: '{"worlds":[]}' })
    expect((await travel({ ...mine, 'x-svc-project-id': projectId })).status).toBe(404)
    const foreign = { 'x-svc-organization-id': victim.ids.organizationId, 'x-svc-project-id': projectId }
    expect((await travel(foreign)).status).toBe(404)
    const listed = await rest.call('GET', '/api/worlds/', undefined, { ...crooked, 'x-svc-project-id': projectId })
    expect(listed.status).toBe(404)
  })
})

describe('a key or token of another project of the same organization', () => {
  /** Operations without a project, or on all projects. */
  const statuses: Record<string, number> = { ...withoutPermission, listProjects: 200, createRealtimeTicket: 201 }
  let victim: FullTenant
  let credentials: Credential[]
  beforeAll(async () => {
    victim = await matrix.aFullTenant('neighbour')
    const made = await victim.tenant.rest.call<{ projectId: string }>('POST', '/api/organizations/projects/', {
      name: 'Other',
    })
    const permissions = [`${victim.tenant.paths.organization}/projects/${made.body.projectId}/**:*`]
    credentials = [
      { apiKey: await victim.tenant.key(permissions) },
      { token: await victim.tenant.token(victim.ids.userId, permissions) },
    ]
  })

  test.each(operations.filter(([, { credential }]) => credential !== 'token'))(
    'reads nothing of this one by %s, as if it were absent',
    async (name, endpoint) => {
      await matrix.changingNothing(
        async () => {
          for (const credential of credentials) {
            const answer = await matrix.request(endpoint, victim.ids, credential)
            expect(answer.status).toBe(statuses[name] ?? 404)
            if (['getOrganization', 'getOrganizationById'].includes(name)) continue
            expect(answer.text).not.toContain(victim.ids.projectId)
            // Every ticket is another text.
            if (name === 'createRealtimeTicket') continue
            const nowhere = { ...absent(victim.ids), organizationId: victim.ids.organizationId }
            expect(comparable(answer)).toEqual(comparable(await matrix.request(endpoint, nowhere, credential)))
          }
        },
        { addsTickets: name === 'createRealtimeTicket' },
      )
    },
  )
})
