import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Endpoint } from '#api/domain/endpoint/endpoint.ts'
import { endpoints } from '#api/endpoints.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi } from '#test/support/processes.ts'
import { send } from '#test/support/rest.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

const [key, token] = ['x-api-key', 'authorization']
const organization = 'x-svc-organization-id'
const project = 'x-svc-project-id'
const scoped = [key, organization, project]

/** The endpoints in the tables of the specification: method, path, required headers and status of success. */
const specified: [string, string, readonly string[], 200 | 204][] = [
  ['GET', '/api/organizations/', [key], 200],
  ['POST', '/api/organizations/', [key], 200],
  ['GET', '/api/organizations/apiKeys/', [key, organization], 200],
  ['POST', '/api/organizations/apiKeys/', [key, organization], 200],
  ['PATCH', '/api/organizations/apiKeys/{apiKeyId}/', [key, organization], 200],
  ['DELETE', '/api/organizations/apiKeys/{apiKeyId}/', [key, organization], 204],
  ['GET', '/api/organizations/current/', [organization], 200],
  ['PATCH', '/api/organizations/current/', [key, organization], 204],
  ['PATCH', '/api/organizations/current/pictureUrl/', [key, organization], 200],
  ['GET', '/api/organizations/{organizationId}/', [organization], 200],
  ['PATCH', '/api/organizations/{organizationId}/', [key, organization], 204],
  ['PATCH', '/api/organizations/{organizationId}/pictureUrl/', [key, organization], 200],
  ['GET', '/api/organizations/projects/', [key, organization], 200],
  ['POST', '/api/organizations/projects/', [key, organization], 200],
  ['GET', '/api/organizations/projects/current/', scoped, 200],
  ['PATCH', '/api/organizations/projects/current/', scoped, 200],
  ['DELETE', '/api/organizations/projects/current/', scoped, 200],
  ['GET', '/api/worlds/', [key, organization], 200],
  ['POST', '/api/worlds/', scoped, 200],
  ['GET', '/api/worlds/travel/locations/', [key], 200],
  ['POST', '/api/worlds/resolveBuildAndContent/', scoped, 204],
  ['GET', '/api/worlds/scalingProfiles/', [key], 200],
  ['GET', '/api/worlds/{worldId}/', scoped, 200],
  ['PATCH', '/api/worlds/{worldId}/', scoped, 200],
  ['DELETE', '/api/worlds/{worldId}/', scoped, 200],
  ['PATCH', '/api/worlds/{worldId}/pictureUrl/', scoped, 200],
  ['POST', '/api/worlds/{worldId}/start/', scoped, 200],
  ['POST', '/api/worlds/{worldId}/stop/', scoped, 200],
  ['GET', '/api/worlds/{worldId}/deployments/', scoped, 200],
  ['GET', '/api/worlds/{worldId}/users/{userId}/access/', [token, organization, project], 200],
  ['GET', '/api/worlds/public/', [key], 200],
  ['GET', '/api/worlds/{worldId}/bots/', scoped, 200],
  ['POST', '/api/worlds/{worldId}/bots/', scoped, 200],
  ['GET', '/api/worlds/{worldId}/bots/{botDeploymentId}/', scoped, 200],
  ['PATCH', '/api/worlds/{worldId}/bots/{botDeploymentId}/', scoped, 200],
  ['DELETE', '/api/worlds/{worldId}/bots/{botDeploymentId}/', scoped, 200],
]

const inTable = (method: string, path: string): Endpoint | undefined =>
  endpoints.find((endpoint) => endpoint.method.toUpperCase() === method && endpoint.path === path)
const ids: Record<string, string> = {
  organizationId: `org-${'0'.repeat(26)}`,
  worldId: `wld-${'0'.repeat(26)}`,
  botDeploymentId: `bot-${'0'.repeat(26)}`,
  apiKeyId: `key-${'0'.repeat(26)}`,
  userId: 'user-7',
}
const filled = (path: string): string => path.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '')
const given: Record<string, string> = {
  [key]: rootApiKey,
  [organization]: `org-${'0'.repeat(26)}`,
  [project]: `prj-${'0'.repeat(26)}`,
}

test.each(specified)('%s %s is served with the status of the specification', (method, path, _, status) => {
  expect(inTable(method, path)?.status ?? 200).toBe(status)
  expect(inTable(method, path)).toBeDefined()
})

test.each(specified)('%s %s requires %j and names a missing one', async (method, path, headers) => {
  const ask = (sent: readonly string[]) =>
    send(api.url, {
      method,
      path: filled(path),
      headers: Object.fromEntries(sent.map((name) => [name, given[name] ?? ''])),
    })
  for (const missing of headers.filter((name) => name === organization || name === project)) {
    if (headers.includes(token)) continue
    const answer = await ask(headers.filter((name) => name !== missing))
    expect(answer.status).toBe(400)
    expect((JSON.parse(answer.text) as { errors: unknown }).errors).toEqual([
      { path: missing, message: expect.any(String) },
    ])
  }
  const nobody = await ask(headers.filter((name) => name !== key && name !== token))
  expect(nobody.status).toBe(headers.includes(key) || headers.includes(token) ? 401 : 404)
  // With all headers, the endpoint gets as far as the missing scope, or answers if it has none.
  if (!headers.includes(token)) expect((await ask(headers)).status).not.toBe(401)
})
