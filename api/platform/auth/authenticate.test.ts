import { Hono } from 'hono'
import { expect, test } from 'vitest'
import { newApiKey } from '#api/platform/secrets/apiKey.ts'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { createAuthenticator } from './authenticate.ts'
import { createKeyCache } from './keyCache.ts'
import { anonymous } from './principal.ts'

test('refuses a key with a wrong checksum without a database query', async () => {
  const lookups: string[] = []
  const find = async ([fingerprint = '']: readonly string[]) => {
    lookups.push(fingerprint)
    return { ids: [], principal: undefined }
  }
  const keys = createKeyCache({ clock: createFakeClock(), peppers: ['pepper'], find })
  const authenticate = createAuthenticator({
    rootApiKey: 'root',
    platform: anonymous(''),
    platformKeyIdOf: () => 'platform',
    keys,
    verify: async () => undefined,
    addressOf: () => '',
    countFailure: () => undefined,
  })
  const app = new Hono().get('/', async (c) => c.text((await authenticate(c, 'key')).kind))
  app.onError((error, c) => c.text(error.message, 401))
  const ask = async (apiKey: string) => (await app.request('/', { headers: { 'x-api-key': apiKey } })).status
  const key = newApiKey()
  const mistyped = key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a')
  expect([await ask('guess'), await ask(mistyped), lookups.length]).toEqual([401, 401, 0])
  expect([await ask(key), lookups.length]).toEqual([401, 1])
  expect([await ask('root'), lookups.length]).toEqual([200, 1])
})
