import type { createRest } from './rest.ts'

type Rest = ReturnType<typeof createRest>
type KeyBody = { documentId: string; displayName: string }
let made = 0

/** Creates an API key of the client's organization, and returns it with functions that change and revoke it. */
export const aKey = async (
  rest: Rest,
  { permissions, claims = {} }: { permissions: string[]; claims?: Record<string, boolean> },
) => {
  made += 1
  const displayName = `key ${made}`
  const { body } = await rest.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', {
    displayName,
    permissions,
    claims,
  })
  const { body: keys } = await rest.call<KeyBody[]>('GET', '/api/organizations/apiKeys/')
  const path = `/api/organizations/apiKeys/${keys.find((key) => key.displayName === displayName)?.documentId}/`
  return {
    apiKey: body.apiKey,
    revoke: () => rest.call('DELETE', path),
    patch: (changes: object) => rest.call('PATCH', path, changes),
  }
}

/** Creates a token of the built-in issuer. */
export const aToken = async (rest: Rest, userId: string, permissions: string[]): Promise<string> =>
  (await rest.call<{ accessToken: string }>('POST', `/api/users/${userId}/tokens/`, { permissions })).body.accessToken
