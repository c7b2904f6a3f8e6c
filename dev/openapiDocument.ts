import { Registry } from 'prom-client'
import { createApp } from '#api/app.ts'
import { openDatabase } from '#api/db/client.ts'
import { systemClock } from '#shared/clock.ts'
import { createIdSource } from '#shared/ids.ts'
import { createLog } from '#shared/log.ts'

const documentPath = '/api/openapi.json'

/** The OpenAPI document that the API of this tree serves. It needs no database: none is connected to. */
export const openApiDocument = async (): Promise<unknown> => {
  const { db } = openDatabase({ url: 'postgres://unused', poolSize: 1 })
  const app = createApp({
    deps: {
      db,
      clock: systemClock,
      newId: createIdSource({ now: systemClock.now }),
      log: createLog({ name: 'openapi', level: 'silent' }),
      publicUrl: 'http://localhost',
      wakeSync: () => undefined,
    },
    rootApiKey: 'unused',
    registry: new Registry(),
    ready: async () => true,
  })
  const response = await app.request(documentPath)
  if (!response.ok) throw new Error(`The API answers ${response.status} to ${documentPath}: ${await response.text()}`)
  return response.json()
}
