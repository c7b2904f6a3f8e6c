import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { checkOutPrevious, type PreviousVersion } from '#dev/versions/previous.ts'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, startApi, startOperator } from '#test/support/processes.ts'
import { createRest, type WorldBody } from '#test/support/rest.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const parts: { stop(): Promise<void> }[] = []
let databaseUrl: string
let previous: PreviousVersion

beforeAll(() => {
  previous = checkOutPrevious(join(mkdtempSync(join(tmpdir(), 'orrery-versions-')), 'previous'))
})
beforeEach(async () => {
  databaseUrl = await aDatabase()
  return async () => {
    for (const part of parts.splice(0)) await part.stop()
  }
})
afterAll(async () => {
  previous.remove()
  await cluster.close()
})

const running = async <T extends { stop(): Promise<void> }>(starting: Promise<T>): Promise<T> => {
  const part = await starting
  parts.push(part)
  return part
}
const current = () => running(startApi({ databaseUrl }))
const older = () => running(startApi({ databaseUrl, checkout: previous.dir }))
const olderOperator = () => running(startOperator({}, previous.dir))

/** Creates, starts, edits, stops and deletes a world. Each step uses another of the APIs and waits for all of them. */
const runLifecycle = async (...apis: readonly ApiProcess[]): Promise<void> => {
  const [first] = apis
  if (first === undefined) throw new Error('The lifecycle needs an API.')
  const tenant = await aTenant(first.url)
  const id = await tenant.world()
  const rests = apis.map(({ url }) => createRest(url, tenant.scope))
  const path = `/api/worlds/${id}/`
  let step = 0
  const call = async (method: string, suffix = '', body?: object): Promise<void> => {
    step += 1
    const answer = await rests[step % rests.length]?.call<object>(method, `${path}${suffix}`, body)
    expect(answer?.status, `${method} ${suffix}: ${JSON.stringify(answer?.body)}`).toBe(200)
  }
  const show = (what: string, isShown: (world: WorldBody & { name?: string }) => boolean) =>
    eventually(what, async () => {
      const answers = await Promise.all(rests.map((rest) => rest.call<WorldBody>('GET', path)))
      return answers.every(({ body }) => isShown(body))
    })
  const pod = cluster.pod(`orrery-${tenant.scope.organizationId}`, id)
  await call('POST', 'start/')
  await pod.exists()
  await pod.becomesReady()
  await show('Active', ({ status }) => status.phase === 'Active')
  await call('PATCH', '', { name: 'Hall' })
  await show('the new name', ({ name }) => name === 'Hall')
  await call('POST', 'stop/')
  await pod.isGone()
  await show('Stopped', ({ status }) => status.phase === 'Stopped')
  await call('POST', 'start/')
  await pod.exists()
  await call('DELETE')
  await pod.isGone()
}

test('the previous API runs on the schema of this one, beside it, with the operator of this version', async () => {
  const newer = await current()
  await running(startOperator())
  await runLifecycle(await older(), newer)
})

test('the previous API runs alone on the schema of this one, as after a rollback', async () => {
  await (await current()).stop()
  await running(startOperator())
  await runLifecycle(await older())
})

test('this API runs with the previous operator', async () => {
  await olderOperator()
  await runLifecycle(await current())
})

test('the previous API and operator run with the definitions of this version', async () => {
  await olderOperator()
  await runLifecycle(await older())
})

test('this API and operator run with the definitions of the previous version', async () => {
  const apply = (dir: string): string =>
    cluster.kubectl('apply', '--server-side', '--force-conflicts', '-f', join(dir, 'crds'))
  apply(previous.dir)
  try {
    await running(startOperator())
    await runLifecycle(await current())
  } finally {
    apply(process.cwd())
  }
})
