import { expect, test } from 'vitest'
import { ApiError, type Client } from '#client/client.ts'
import type { World } from '#client/operations.ts'
import { conflictsOf } from '#console/state/settings/draft.ts'
import { aWorld } from '#console/state/settings/testing/world.ts'
import { createEditor } from './editor.ts'

type Answer = { readonly headers: Headers; readonly body: World }
const answer = (revision: number, members: Partial<World> = {}): Answer => ({
  headers: new Headers({ etag: `W/"${revision}.a"` }),
  body: aWorld({ ...members, status: { ...aWorld().status, phase: 'Stopped', ...members.status } }),
})
const refusal = (status: number): ApiError =>
  new ApiError('patchWorld', {
    status,
    code: 'code',
    detail: 'Detail',
    requestId: undefined,
    errors: [],
    retryAfterSeconds: undefined,
  })

/** An editor whose requests wait until the test answers them, in any order. */
const anEditor = async (first = answer(5)) => {
  const sent: { operation: string; input: { headers?: { 'if-match': string }; body?: object } }[] = []
  const waiting: PromiseWithResolvers<Answer>[] = []
  const request = (operation: string, input: object): Promise<Answer> => {
    const answered = Promise.withResolvers<Answer>()
    sent.push({ operation, input })
    waiting.push(answered)
    return answered.promise
  }
  const editor = createEditor({ request } as unknown as Client, 'wld-1')
  const reply = async (index: number, value: Answer | Error): Promise<void> => {
    if (value instanceof Error) waiting[index]?.reject(value)
    else waiting[index]?.resolve(value)
    await new Promise(setImmediate)
  }
  const read = (): void => void editor.read(new AbortController().signal)
  read()
  await reply(0, first)
  const conflicts = (): string[] => {
    const [draft, version] = [editor.draft.value, editor.latest.value]
    return draft && version ? conflictsOf(draft, version).map(({ id }) => id) : []
  }
  const tags = () => sent.flatMap(({ input }) => input.headers?.['if-match'] ?? [])
  return { editor, reply, read, conflicts, tags }
}

const ports = [{ name: 'game', containerPort: 7000, protocol: 'TCPUDP', expose: 'Public' }] as const
const networking = { ...aWorld().networking, ports: [...ports] }
const typedPorts = '[{"name": "game", "containerPort": 7000}]'

test('an answer that comes late does not replace a newer version', async () => {
  const { editor, reply, read } = await anEditor()
  read()
  read()
  await reply(2, answer(7, { name: 'New' }))
  await reply(1, answer(6, { name: 'Old' }))
  expect(editor.latest.value?.world.name).toBe('New')
})

test('the own save that the feed shows first, in another form, is not a change of others', async () => {
  const { editor, reply, read, conflicts } = await anEditor()
  editor.edit('networking.ports', typedPorts)
  void editor.save()
  read()
  await reply(2, answer(6, { networking }))
  expect(conflicts()).toEqual([])
  await reply(1, answer(6, { networking }))
  expect(editor.outcome.value).toEqual({ kind: 'saved', ids: ['networking.ports'] })
  expect(editor.draft.value).toBeUndefined()
})

test('an edit during a save begins from what was saved', async () => {
  const { editor, reply, conflicts } = await anEditor()
  editor.edit('networking.ports', typedPorts)
  void editor.save()
  editor.edit('networking.ports', '[]')
  await reply(1, answer(6, { networking }))
  expect(conflicts()).toEqual([])
  expect(editor.draft.value).toMatchObject({ base: { etag: '"6.a"' }, texts: { 'networking.ports': '[]' } })
})

test('a change of others during a save is shown when the save has failed', async () => {
  const { editor, reply, read, conflicts } = await anEditor()
  editor.edit('name', 'Mine')
  void editor.save()
  read()
  await reply(2, answer(6, { name: 'Theirs' }))
  expect(conflicts()).toEqual([])
  await reply(1, refusal(400))
  expect(conflicts()).toEqual(['name'])
  expect(editor.isSaving.value).toBe(false)
})

test('the edits are sent again if only the state of the world has changed, three times in all', async () => {
  const { editor, reply, tags } = await anEditor()
  editor.edit('name', 'Mine')
  void editor.save()
  for (const [index, revision] of [6, 7].entries()) {
    await reply(1 + 2 * index, refusal(412))
    await reply(2 + 2 * index, answer(revision))
  }
  expect(editor.isSaving.value).toBe(true)
  await reply(5, answer(8, { name: 'Mine' }))
  expect(tags()).toEqual(['"5.a"', '"6.a"', '"7.a"'])
  expect(editor.outcome.value).toEqual({ kind: 'saved', ids: ['name'] })

  editor.edit('name', 'Again')
  void editor.save()
  for (const index of [6, 8, 10]) {
    await reply(index, refusal(412))
    await reply(index + 1, answer(9, { name: 'Mine' }))
  }
  expect(tags()).toHaveLength(6)
  expect(editor.outcome.value).toEqual({ kind: 'outdated', ids: [] })
})

test('a change of settings by others stops the save, and is named, also from a restored database', async () => {
  const { editor, reply, tags } = await anEditor()
  editor.edit('name', 'Mine')
  void editor.save()
  await reply(1, refusal(412))
  await reply(2, answer(2, { description: 'Theirs' }))
  expect(tags()).toEqual(['"5.a"'])
  expect(editor.outcome.value).toEqual({ kind: 'outdated', ids: ['description'] })
  expect(editor.draft.value).toMatchObject({ base: { etag: '"2.a"' }, texts: { name: 'Mine' } })
})

test('the outcome of a save ends with the run', async () => {
  const { editor, reply, read } = await anEditor()
  editor.edit('name', 'Mine')
  void editor.save()
  await reply(1, answer(6, { name: 'Mine' }))
  read()
  await reply(2, answer(7, { name: 'Mine' }))
  expect(editor.outcome.value?.kind).toBe('saved')
  read()
  await reply(3, answer(8, { name: 'Mine', status: { ...aWorld().status, runId: 'run-2', phase: 'Stopped' } }))
  expect(editor.outcome.value).toBeUndefined()
})
