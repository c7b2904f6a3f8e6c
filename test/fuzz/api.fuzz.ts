import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { endpoints } from '#api/endpoints.ts'
import { type Fixture, makeFixture } from '#dev/fuzz/fixture.ts'
import { obtainSchemathesis } from '#dev/fuzz/install.ts'
import { type FuzzOptions, fuzz } from '#dev/fuzz/run.ts'
import { type ApiProcess, aDatabase, logLines, rootApiKey, startApi, startOperator } from '#test/support/processes.ts'
import { drawSeed } from '#test/support/seed.ts'
import { eventually } from '#test/support/wait.ts'

const seed = drawSeed('ORRERY_FUZZ_SEED')
const minutes = process.env.ORRERY_FUZZ_MINUTES === undefined ? undefined : Number(process.env.ORRERY_FUZZ_MINUTES)
const say = (line: string): void => void process.stderr.write(`[fuzz] ${line}\n`)
const schemathesis = await obtainSchemathesis({ env: process.env, progress: say })
const python = 'python' in schemathesis ? schemathesis.python : ''
const needs = 'missing' in schemathesis ? ` (needs ${schemathesis.missing})` : ''

/** The memory limit of the process. Most of it is for the runtime; a leak over thousands of requests far exceeds it. */
const maxMemoryBytes = 512 * 1024 * 1024
const noLimit = '1000000'
/** Time for the fixed part of a run, besides the requested duration. A busy machine takes ten times as long. */
const testTimeoutMs = 1_200_000 + (minutes ?? 0) * 60_000

describe.skipIf(needs !== '')(`every request that the OpenAPI document leads to${needs}`, () => {
  let api: ApiProcess
  let operator: Awaited<ReturnType<typeof startOperator>>
  let fixture: Fixture
  let dir: string
  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), 'orrery-fuzz-'))
    const settings = {
      ORRERY_LIMIT_REQUESTS_PER_SECOND: noLimit,
      ORRERY_LIMIT_REQUEST_BURST: noLimit,
      ORRERY_LIMIT_STARTS_PER_MINUTE: noLimit,
      ORRERY_LIMIT_FAILED_CREDENTIALS_PER_MINUTE: noLimit,
    }
    // A deleted world can be restored after the operator has drained it.
    operator = await startOperator()
    api = await startApi({ databaseUrl: await aDatabase(), namespacePrefix: 'fuzz', settings })
    fixture = await makeFixture(api.url, rootApiKey)
  })
  afterAll(async () => {
    await Promise.all([api?.stop(), operator?.stop()])
    rmSync(dir, { recursive: true, force: true })
  })

  /** Raises the rates of the fuzzing key's organization, which an earlier run may have lowered. A 429 hides other faults. */
  const resetLimits = async (): Promise<void> => {
    const [owner = ''] = fixture.ids.operations.patchLimits?.organizationId ?? []
    const answer = await fetch(`${api.url}/api/organizations/${owner}/limits/`, {
      method: 'PATCH',
      headers: { 'x-api-key': rootApiKey, 'x-svc-organization-id': owner, 'content-type': 'application/json' },
      body: JSON.stringify({ maxRequestsPerSecond: 1_000_000, maxDocumentBytesPerSecond: 2 ** 40 }),
    })
    expect(answer.status).toBe(200)
    const headers = { 'x-api-key': fixture.organizationKey, 'x-svc-organization-id': owner }
    const list = async () => (await fetch(`${api.url}/api/organizations/projects/`, { headers })).status
    await eventually('the new rate limit', async () =>
      (await Promise.all(Array.from({ length: 50 }, list))).every((status) => status !== 429),
    )
  }
  const run = async (more: Pick<FuzzOptions, 'apiKey' | 'phases' | 'maxExamples'>) => {
    await resetLimits()
    const startedMs = performance.now()
    const maxSeconds = minutes === undefined ? undefined : minutes * 20
    const timeoutMs = testTimeoutMs - 5_000
    const result = await fuzz({
      python,
      apiUrl: api.url,
      platformKey: rootApiKey,
      fixture,
      seed,
      maxSeconds,
      timeoutMs,
      dir,
      ...more,
    })
    say(`${result.requests} requests in ${Math.round((performance.now() - startedMs) / 1000)} s\n${result.summary}`)
    expect(result.failures ?? 'none').toBe('none')
    expect(result.requests).toBeGreaterThan(500)
  }
  test('with the platform key is answered as the document says', { timeout: testTimeoutMs }, () =>
    run({ apiKey: rootApiKey, phases: ['examples', 'coverage', 'fuzzing', 'stateful'], maxExamples: 5 }),
  )

  test("with an organization's key is answered as the document says", { timeout: testTimeoutMs }, () =>
    run({ apiKey: fixture.organizationKey, phases: ['fuzzing', 'stateful'], maxExamples: 10 }),
  )

  test("with a user's token is answered as the document says", { timeout: testTimeoutMs }, () =>
    run({ apiKey: undefined, phases: ['fuzzing'], maxExamples: 10 }),
  )

  test('leaves no error in the log, and no more memory in use than at other times', async () => {
    expect(logLines(api.logFile).filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([])
    const [, bytes] = /^process_resident_memory_bytes (\d+)/m.exec(await (await fetch(api.metricsUrl)).text()) ?? []
    say(`the API has ${Math.round(Number(bytes) / 1024 / 1024)} MiB in use`)
    expect(Number(bytes)).toBeLessThan(maxMemoryBytes)
  })

  test('includes, for every operation, one that succeeded', () => {
    const done = new Set(
      logLines(api.logFile)
        .filter(({ status }) => Number(status) < 300)
        .map(({ method, route }) => `${method} ${route}`),
    )
    const never = endpoints
      .filter(({ path }) => !path.endsWith('/logs/'))
      .map(({ method, path }) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`)
      .filter((route) => !done.has(route))
    expect(never).toEqual([])
  })
})
