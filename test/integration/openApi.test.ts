import { afterAll, beforeAll, expect, test } from 'vitest'
import { endpoints } from '#api/endpoints.ts'
import { type ApiProcess, aDatabase, logLines, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'

let api: ApiProcess
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterAll(() => api?.stop())

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const fixedPaths = [...new Set(endpoints.map(({ path }) => path))].filter((path) => !path.includes('{'))

test('a path that is a name and no id serves its own methods alone, and Allow lists exactly these', async () => {
  const rest = createRest(api.url)
  const wrong: unknown[] = []
  for (const path of fixedPaths) {
    const served = endpoints.filter((each) => each.path === path).map(({ method }) => method.toUpperCase())
    for (const method of [...methods, 'OPTIONS'].filter((each) => !served.includes(each))) {
      const { status, headers } = await rest.call(method, path)
      const allow = headers.get('allow')
      if (status !== 405 || allow !== served.sort().join(', ')) wrong.push({ method, path, status, allow })
    }
  }
  expect(wrong).toEqual([])
})

test('a request is counted and logged under the route that served it', async () => {
  const rest = createRest(api.url)
  await rest.call('GET', '/api/worlds/public/')
  await rest.call('DELETE', '/api/worlds/public/')
  const metrics = await (await fetch(api.metricsUrl)).text()
  const counted = metrics.split('\n').filter((line) => line.includes('_count{') && line.includes('/api/worlds/'))
  expect(counted.filter((line) => line.includes('route="/api/worlds/public/"'))).not.toEqual([])
  expect(counted.filter((line) => line.includes('route="/api/worlds/:worldId/"'))).toEqual([])
  const routes = logLines(api.logFile).map(({ route }) => route)
  expect(routes).toContain('/api/worlds/public/')
  expect(routes).not.toContain('/api/worlds/:worldId/')
})
