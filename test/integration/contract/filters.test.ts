import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

let api: ApiProcess
let tenant: Tenant
const ids: Record<string, string> = {}
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  tenant = await aTenant(api.url)
  ids.hall = await tenant.world({ name: 'Great Hall', metadata: { labels: { team: 'events', 'a=b': '' } } })
  ids.lobby = await tenant.world({ description: 'Beside the HALL', metadata: { labels: { team: 'art' } } })
  const networking = { scaling: { profile: 'Capacity60' } }
  ids.roof = await tenant.world({ name: '100% Roof', networking, compute: { region: 'AsiaPacific' } })
  await tenant.rest.call('POST', `/api/worlds/${ids.roof}/start/`)
})
afterAll(() => api?.stop())

const list = async (query: string) => {
  const { status, headers, body } = await tenant.rest.call<{ documentId: string }[]>('GET', `/api/worlds/?${query}`)
  const names =
    status === 200 ? body.map(({ documentId }) => Object.keys(ids).find((name) => ids[name] === documentId)) : []
  return { status, link: headers.get('link'), names }
}

test.each([
  ['', ['hall', 'lobby', 'roof']],
  ['phase=Starting', ['roof']],
  ['phase=Inactive,Error', ['hall', 'lobby']],
  ['phase=Inactive&phase=Starting', ['hall', 'lobby', 'roof']],
  ['profile=Capacity60', ['roof']],
  ['profile=Capacity30&region=Europe', ['hall', 'lobby']],
  ['region=AsiaPacific', ['roof']],
  ['region=NorthAmerica', []],
  ['name=Lobby', ['lobby']],
  ['name=lobby', []],
  ['q=hALL', ['hall', 'lobby']],
  ['q=100%25', ['roof']],
  ['q=%25', ['roof']],
  ['q=_', []],
  ['label=team', ['hall', 'lobby']],
  ['label=team%3Devents', ['hall']],
  ['label=team&label=team%3Dart', ['lobby']],
  ['label=team%3Dnone', []],
  ['phase=Inactive&q=hall&label=team%3Dart', ['lobby']],
])('the list of worlds with %j is %j', async (query, names) => {
  expect(await list(query)).toMatchObject({ status: 200, names })
})

// A code point of four bytes, which take twelve characters in a URL.
const longestLabel = `label=${encodeURIComponent('😀'.repeat(128))}`

test.each([
  'phase=Happy',
  'phase=',
  'profile=Capacity31',
  'region=Mars',
  'name=',
  'q=',
  'q=%00',
  'label=',
  'label=%00',
  `${longestLabel}a`,
  'label=a&label=b&label=c&label=d&label=e',
])('rejects the filter %j', async (query) => {
  expect((await list(query)).status).toBe(400)
})

test('accepts a full set of the longest filters', async () => {
  const [name, q] = [64, 256].map((length) => encodeURIComponent('😀'.repeat(length)))
  const labels = Array.from({ length: 4 }, () => longestLabel).join('&')
  expect(await list(`phase=Starting&name=${name}&q=${q}&${labels}`)).toMatchObject({ status: 200, names: [] })
})

test('keeps the filters in the link to the next page', async () => {
  const first = await list('limit=1&q=hall&label=team&unknown=1')
  expect(first.link).not.toContain('unknown')
  const next = /<[^?]*\?([^>]*)>/.exec(first.link ?? '')?.[1] ?? ''
  expect(first.names).toEqual(['hall'])
  expect(await list(next)).toEqual({ status: 200, link: null, names: ['lobby'] })
})

const allPages = async (query: string): Promise<(string | undefined)[]> => {
  const names = []
  for (let next: string | undefined = `limit=1&${query}`, page = 0; next !== undefined && page < 9; page += 1) {
    const { names: found, link } = await list(next)
    names.push(...found)
    next = /<[^?]*\?([^>]*)>/.exec(link ?? '')?.[1]
  }
  return names
}

test.each([
  ['sort=createdAt', ['hall', 'lobby', 'roof']],
  ['sort=-createdAt', ['roof', 'lobby', 'hall']],
  ['sort=name', ['roof', 'hall', 'lobby']],
  ['sort=-name', ['lobby', 'hall', 'roof']],
  ['sort=-updatedAt', ['roof', 'lobby', 'hall']],
  ['sort=phase', ['hall', 'lobby', 'roof']],
  ['sort=-phase', ['roof', 'lobby', 'hall']],
  ['sort=-name&q=hall', ['lobby', 'hall']],
])('the list of worlds with %j is %j, also in pages of one', async (query, names) => {
  expect((await list(query)).names).toEqual(names)
  expect(await allPages(query)).toEqual(names)
})

test('returns only the named fields and the id of each world', async () => {
  const { body } = await tenant.rest.call<object[]>(
    'GET',
    '/api/worlds/?fields=name,transient&fields=createdAt&limit=1',
  )
  expect(body).toEqual([{ documentId: ids.hall, name: 'Great Hall', transient: false, createdAt: expect.any(String) }])
})

test.each([
  'sort=size',
  'sort=',
  'fields=secret',
  'fields=',
  'cursor=zz.wld-1',
  `sort=name&cursor=_.wld-${'0'.repeat(26)}`,
])('rejects the query %j', async (query) => {
  expect((await list(query)).status).toBe(400)
})

test('refuses the cursor of a list in another order', async () => {
  const { link } = await list('limit=1&sort=name')
  const next = /<[^?]*\?([^>]*)>/.exec(link ?? '')?.[1] ?? ''
  expect((await list(next.replace('sort=name', 'sort=createdAt'))).status).toBe(400)
})

describe('the counts of worlds', () => {
  const counts = async (query = '') =>
    (await tenant.rest.call<{ total: number; phases: object }>('GET', `/api/worlds/counts/${query}`)).body

  test('are by phase, and follow the filters', async () => {
    const none = { Inactive: 0, Starting: 0, Active: 0, Stopped: 0, Error: 0 }
    expect(await counts()).toEqual({ total: 3, phases: { ...none, Inactive: 2, Starting: 1 } })
    expect(await counts('?q=hall&label=team')).toEqual({ total: 2, phases: { ...none, Inactive: 2 } })
    expect(await counts('?name=nobody')).toEqual({ total: 0, phases: none })
  })

  test('include only worlds that the caller can read', async () => {
    const rest = await tenant.withKey([`${tenant.paths.project}/worlds/${ids.roof}:r`])
    expect((await rest.call('GET', '/api/worlds/counts/')).body).toMatchObject({ total: 1, phases: { Starting: 1 } })
    const stranger = await (await aTenant(api.url)).key([])
    const headers = { 'x-api-key': stranger }
    expect((await tenant.rest.call('GET', '/api/worlds/counts/', undefined, headers)).status).toBe(404)
  })
})
