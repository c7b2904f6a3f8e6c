import { type ChildProcess, spawn } from 'node:child_process'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { aClientProject } from '#test/support/clientProject.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { type PageProgram, readPrograms } from '#test/support/snippets.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const programs = ['client/README.md', 'docs/realtime.md', 'docs/rest.md'].flatMap(readPrograms)
const address = 'https://orrery.example.com'

let api: ApiProcess
let project: ReturnType<typeof aClientProject>
const children: ChildProcess[] = []
beforeAll(async () => {
  project = aClientProject()
  api = await startApi({ databaseUrl: await aDatabase() })
})
afterEach(() => {
  for (const child of children.splice(0)) child.kill()
})
afterAll(async () => {
  await api?.stop()
  project?.remove()
})

/** A tenant with a world, and the output of the program so far. */
type SnippetContext = {
  readonly tenant: Tenant
  readonly worldId: string
  readonly prints: (pattern: RegExp) => Promise<void>
}

const followSettings = async ({ tenant, prints }: SnippetContext): Promise<void> => {
  await prints(/do not exist yet|resource_not_found/)
  for (const level of [41, 42]) {
    await tenant.rest.call('PUT', '/api/documents/liveConfig/settings/', {
      data: { id: 'settings', config: { level } },
    })
    await prints(new RegExp(`level\\W+${level}`))
  }
  await tenant.rest.call('DELETE', '/api/documents/liveConfig/settings/')
  await prints(/were deleted|"data":\{\}/)
}

/** The expected output of each program, and the changes during its run. */
const scenarios: Record<string, (context: SnippetContext) => Promise<void>> = {
  'client/README.md, ts': ({ prints }) => prints(/^Starting$/m),
  'docs/realtime.md, js': followSettings,
  'docs/realtime.md, ts': async (context) => {
    await followSettings(context)
    await context.prints(/Lobby: Inactive/)
  },
  'docs/rest.md, bash': async ({ tenant, worldId, prints }) => {
    await prints(/"status":200/)
    const { body } = await tenant.rest.call<{ description: string; status: { phase: string } }>(
      'GET',
      `/api/worlds/${worldId}/`,
    )
    expect(body).toMatchObject({ description: 'Meet here', status: { phase: 'Starting' } })
  },
}

/** The names that snippets leave to the reader. */
const givenOf = async ({ scope, paths, key }: Tenant, worldId: string) => ({
  ...scope,
  worldId,
  apiKey: await key([`${paths.project}/**:*`]),
})
type Given = Awaited<ReturnType<typeof givenOf>>

/** The last line of each snippet, so that the test sees that all of it was run. */
const endOf = (at: number): string => `end of snippet ${at + 1}`

const moduleOf = ({ snippets }: PageProgram, given: Given): string =>
  [
    ...Object.entries(given).map(([name, value]) => `const ${name} = ${JSON.stringify(value)}`),
    'const show = console.log',
    'const report = console.error',
    ...snippets.map((code, at) => `${code}\nconsole.log('${endOf(at)}')`),
  ].join('\n')

const scriptOf = ({ snippets }: PageProgram, given: Given): string =>
  [
    'set -euo pipefail',
    // `worldId` becomes WORLD_ID.
    ...Object.entries(given).map(
      ([name, value]) => `${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}='${value}'`,
    ),
    ...snippets.map((code, at) => `${code}\necho '${endOf(at)}'`),
  ].join('\n')

/** Starts a program in the project outside of the checkout, unchanged but for the address of the API. */
const start = (program: PageProgram, given: Given) => {
  const isShell = program.language === 'bash'
  const code = (isShell ? scriptOf : moduleOf)(program, given)
    .replaceAll(address, api.url)
    .replaceAll(address.replace('http', 'ws'), api.url.replace('http', 'ws'))
  const file = project.write(`snippets.${program.language}`, code)
  const child = spawn(isShell ? 'bash' : process.execPath, [file], { cwd: project.dir })
  children.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  return { file, ended, output: () => output }
}

test.each(programs)('the $language snippets of $page run outside of the checkout', async (program) => {
  const scenario = scenarios[`${program.page}, ${program.language}`]
  if (scenario === undefined) throw new Error(`Add a scenario for the ${program.language} snippets of ${program.page}.`)
  const tenant = await aTenant(api.url)
  const worldId = await tenant.world()
  const { ended, output } = start(program, await givenOf(tenant, worldId))
  const prints = async (pattern: RegExp): Promise<void> => {
    await eventually(`${pattern} in ${output()}`, async () => {
      if (pattern.test(output())) return true
      throw new Error(`The program has printed: ${output()}`)
    })
  }
  await scenario({ tenant, worldId, prints })
  for (const at of program.snippets.keys()) await prints(new RegExp(`^${endOf(at)}$`, 'm'))
  if (program.language === 'bash') expect(await ended).toBe(0)
})

test.each(programs.filter(({ language }) => language === 'ts'))('the ts snippets of $page pass tsc', (program) => {
  const given = { apiKey: '', organizationId: '', projectId: '', worldId: '' }
  project.checkTypes(project.write('typed.ts', `${moduleOf(program, given)}\nexport {}`), 'bundler')
})
