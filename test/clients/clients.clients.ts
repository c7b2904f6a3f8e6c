import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { obtainGenerators } from './generators.ts'

const say = (line: string): void => void process.stderr.write(`[clients] ${line}\n`)
const generators = await obtainGenerators({ env: process.env, progress: say })

let api: ApiProcess
let document: string
beforeAll(async () => {
  api = await startApi({ databaseUrl: await aDatabase() })
  document = await (await fetch(`${api.url}/api/openapi.json`)).text()
})
afterAll(() => api?.stop())

/** Settings of the program that uses a client, with the key of a new tenant. */
const settingsOf = async (): Promise<Record<string, string>> => {
  const { scope, paths, key } = await aTenant(api.url)
  return {
    ORRERY_URL: api.url,
    ORRERY_KEY: await key([`${paths.project}/**:*`]),
    ORRERY_ORGANIZATION: scope.organizationId,
    ORRERY_PROJECT: scope.projectId,
  }
}

for (const { title, missing, build, use } of generators) {
  if (missing !== undefined) say(`${title}: skipped, since this machine lacks ${missing}`)
  const uses = use === undefined ? '' : ', which creates, starts, reads, lists and deletes a world'
  test.skipIf(missing !== undefined)(`${title} generates a client that compiles${uses}`, async () => {
    const startedMs = performance.now()
    const dir = mkdtempSync(join(tmpdir(), 'orrery-generated-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    writeFileSync(join(dir, 'openapi.json'), document)
    await build(dir)
    if (use !== undefined) {
      const { created, ...seen } = JSON.parse(await use(dir, await settingsOf()))
      expect(created).toMatch(/^wld-/)
      expect(seen).toEqual({ phase: 'Starting', listed: [[created, 'Lobby']], afterDeletion: 404 })
    }
    const steps = use === undefined ? 'generated and compiled' : 'generated, compiled and used'
    say(`${title}: ${steps} in ${Math.round((performance.now() - startedMs) / 1000)} s`)
  })
}
