import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { generatePythonClient, obtainGenerator, runSmoke } from '#dev/pythonClient/generate.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'

const say = (line: string): void => void process.stderr.write(`[python client] ${line}\n`)
const generator = await obtainGenerator({ env: process.env, progress: say })
const python = 'python' in generator ? generator.python : ''
const needs = 'missing' in generator ? ` (needs ${generator.missing})` : ''

describe.skipIf(needs !== '')(`a Python client that is generated from the OpenAPI document${needs}`, () => {
  test('has every operation without a warning, and creates and lists worlds', { timeout: 300_000 }, async () => {
    const dir = mkdtempSync(join(tmpdir(), 'orrery-python-client-'))
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
    const api = await startApi({ databaseUrl: await aDatabase() })
    onTestFinished(() => api.stop())
    await generatePythonClient({ python, apiUrl: api.url, dir })
    const { scope, paths, key } = await aTenant(api.url)
    const { operations, created, listed } = await runSmoke(python, dir, {
      ORRERY_URL: api.url,
      ORRERY_KEY: await key([`${paths.project}/**:*`]),
      ORRERY_ORGANIZATION: scope.organizationId,
      ORRERY_PROJECT: scope.projectId,
    })
    const { paths: served } = (await (await fetch(`${api.url}/api/openapi.json`)).json()) as { paths: object }
    expect(operations).toBe(Object.values(served).flatMap((path) => Object.keys(path)).length)
    expect(listed).toEqual([[created, 'Lobby']])
  })
})
