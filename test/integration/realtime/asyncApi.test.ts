import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { openSocket } from '#test/support/socket.ts'
import { aTenant } from '#test/support/tenant.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

type AsyncApi = { components: { messages: Record<string, { payload: object; examples: { payload: unknown }[] }> } }

const readMessages = async () => {
  const document = (await (await fetch(`${api.url}/api/asyncapi.json`)).json()) as AsyncApi
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  return Object.entries(document.components.messages).map(([name, { payload, examples }]) => {
    const validate = ajv.compile(payload)
    return { name, examples: examples.map((each) => each.payload), fits: (value: unknown): boolean => validate(value) }
  })
}

test('every example of the AsyncAPI document fits its message and no other one', async () => {
  const messages = await readMessages()
  for (const { name, examples } of messages) {
    expect(examples.length).toBeGreaterThan(0)
    for (const example of examples) {
      expect([example, messages.filter(({ fits }) => fits(example)).map((each) => each.name)]).toEqual([
        example,
        [name],
      ])
    }
  }
})

test('every message of the server is one that the AsyncAPI document describes', async () => {
  const messages = await readMessages()
  const { rest, scope, world } = await aTenant(api.url)
  const worldId = await world()
  const put = (type: string, data: object) => rest.call('PUT', `/api/documents/${type}/a/`, { data })
  await put('kvStore', { key: 'k', store: 'kvstoreClient', data: 1 })
  await put('collection', { userId: 'u', datasourceId: 'd', userCollection: [1] })
  await put('liveConfig', { id: 'l', config: {} })
  const client = await openSocket(api.url, scope)
  for (const type of ['kvStore', 'collection', 'liveConfig']) client.subscribe(type, 'a')
  client.subscribe('world', worldId)
  client.subscribe('worlds', scope.projectId)
  client.subscribe('liveConfig', 'absent')
  client.subscribe('none', 'a')
  client.subscribe('world', '/')
  await client.hears('the answers to all', () => client.heard.length >= 8)
  await rest.call('POST', `/api/worlds/${worldId}/start/`)
  await client.hears('the start', ({ data }) => data?.phase === 'Starting')
  await rest.call('DELETE', '/api/documents/liveConfig/a/')
  await client.hears('the deletion', ({ data }) => data !== undefined && Object.keys(data).length === 0)
  for (let at = 0; at < 6; at += 1) client.send('{')
  await client.closes()
  const kinds = client.heard.map((heard) => ({
    heard,
    names: messages.filter(({ fits }) => fits(heard)).map(({ name }) => name),
  }))
  expect(kinds.filter(({ names }) => names.length !== 1)).toEqual([])
  expect(new Set(kinds.flatMap(({ names }) => names))).toEqual(new Set(['update', 'warning', 'error']))
})
