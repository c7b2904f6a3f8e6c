import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const page = readFileSync('docs/realtime.md', 'utf8')
const snippets = [...page.matchAll(/```[jt]s\n([\s\S]*?)```/g)].map(([, code = '']) => code)

let api: ApiProcess
const children: ChildProcess[] = []
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill()
})
afterAll(() => api?.stop())

/** Runs a snippet as it stands, at this API instead of the example's; `said` is what it has printed so far. */
const run = (snippet: string, given: Record<string, string>) => {
  const constants = Object.entries(given).map(([name, value]) => `const ${name} = ${JSON.stringify(value)}\n`)
  const code = constants.join('') + snippet.replaceAll('s://orrery.example.com', api.url.replace('http', ''))
  const child = spawn(process.execPath, ['--input-type=module-typescript', '--eval', code])
  children.push(child)
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (said += data))
  return { said: () => said }
}

test.each(snippets.map((snippet, at) => [at + 1, snippet] as const))(
  'snippet %i of docs/realtime.md works as described',
  async (_, snippet) => {
    const { rest, scope, paths, key } = await aTenant(api.url)
    const put = (level: number) =>
      rest.call('PUT', '/api/documents/liveConfig/settings/', { data: { id: 'settings', config: { level } } })
    const { said } = run(snippet, { ...scope, apiKey: await key([`${paths.project}/**:r`]) })
    await eventually('that there is nothing', async () => /do not exist yet|resource_not_found/.test(said()))
    for (const level of [41, 42]) {
      await put(level)
      await eventually(`${level} in ${said()}`, async () => new RegExp(`level\\W+${level}`).test(said()))
    }
    await rest.call('DELETE', '/api/documents/liveConfig/settings/')
    await eventually(`the end in ${said()}`, async () => /were deleted|"data":\{\}/.test(said()))
  },
)

test('docs/realtime.md has a snippet of the client and one without it', () => {
  expect(snippets.map((snippet) => snippet.includes('createRealtime'))).toEqual([true, false])
})
