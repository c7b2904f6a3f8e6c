import { expect, test } from 'vitest'
import { openApiDocument } from '#api/domain/endpoint/document.ts'
import { endpoints } from '#api/endpoints.ts'
import { type ApiDocument, createChecker } from './documented.ts'

const check = createChecker(openApiDocument(endpoints) as ApiDocument)
const json = 'application/json'
const created = {
  worldId: 'wld-00000000000000000000000000',
  launchContextId: 'lctx-00000000000000000000000000',
}
const answer = { method: 'POST', path: '/api/worlds', status: 200, contentType: json, text: JSON.stringify(created) }

test('accepts a documented response, and any response outside the document', () => {
  check(answer)
  check({ ...answer, path: '/api/worlds/?limit=2' })
  check({ method: 'GET', path: '/api/nothing/', status: 404, contentType: 'text/plain', text: 'no' })
})

test.each([
  ['a status that is not documented', { status: 201 }, 'which is not documented'],
  ['another type', { contentType: 'text/plain' }, 'documented is application/json'],
  ['a missing field', { text: JSON.stringify({ worldId: created.worldId }) }, 'launchContextId'],
  ['a field that is not documented', { text: JSON.stringify({ ...created, more: 1 }) }, 'additional properties'],
  ['an id of another kind', { text: JSON.stringify({ ...created, worldId: created.launchContextId }) }, 'pattern'],
  [
    'a body where none is documented',
    { method: 'DELETE', path: `/api/worlds/${created.worldId}/`, text: '{}' },
    'with a body',
  ],
])('rejects %s', (_, part, message) => {
  expect(() => check({ ...answer, ...part })).toThrow(message)
})
