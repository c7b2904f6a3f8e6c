import { expect, test } from 'vitest'
import { isSettled, shownAs } from './syncedCondition.ts'

const live = (status: object) => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: 'w' },
  status,
})
const synced = (status: string) => ({
  conditions: [{ type: 'Synced', status, reason: 'r', message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' }],
})
const row = { id: 'w', resourceName: 'w', refusal: null, pushRefusal: null }
const adopted = { ...row, id: 'wld-1' }

test.each([
  ['no condition', live({}), row],
  ['the condition True', live(synced('True')), row],
  ['the id of an adopted resource', live({ worldId: 'wld-1' }), adopted],
])('a resource with %s needs no write', (_, resource, of) => {
  expect(isSettled(resource, of, of.id)).toBe(true)
})

test.each([
  ['the condition False and no refusal in its row', live(synced('False')), row],
  [
    'the condition False and a refusal in its row',
    live(synced('False')),
    { ...row, refusal: { revision: 1, message: 'm', generation: 1, putBackAtMs: [], isLeft: false } },
  ],
  ['no id, and another name than its id', live({}), adopted],
])('a resource with %s may need one', (_, resource, of) => {
  expect(isSettled(resource, of, of.id)).toBe(false)
})

test('a push that the cluster refuses is shown before an edit that was refused and a start that waits', () => {
  const refusal = { revision: 1, message: 'edit', generation: 1, putBackAtMs: [], isLeft: false }
  expect(shownAs({ pushRefusal: 'push', refusal, waitsFor: 'room' })).toMatchObject({
    status: 'False',
    message: 'push',
  })
  expect(shownAs({ pushRefusal: null, refusal, waitsFor: 'room' })).toMatchObject({ status: 'False', message: 'edit' })
  expect(shownAs({ pushRefusal: null, refusal: null, waitsFor: 'room' })).toMatchObject({ message: 'room' })
})
