import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { type ApiProcess, aDatabase, rootApiKey, startApi, startOperator } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually, patience } from '#test/support/wait.ts'

const cluster = aCluster()
let api: ApiProcess
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  ;[api, operator] = await Promise.all([aDatabase().then((databaseUrl) => startApi({ databaseUrl })), startOperator()])
})
afterAll(async () => {
  await Promise.all([api?.stop(), operator?.stop(), cluster.close()])
})

test('the commands of the installation guide lead to a running world', async () => {
  const guide = readFileSync(new URL('../../docs/install.md', import.meta.url), 'utf8')
  const [, commands = ''] = /<!-- first-world -->\n```bash\n([\s\S]*?)```/.exec(guide) ?? []
  const { kubectl, adminKubeconfig } = getServers()
  const env = {
    PATH: `${dirname(kubectl)}:${process.env.PATH}`,
    // kubectl writes its cache there.
    HOME: getServers().logDir,
    KUBECONFIG: adminKubeconfig,
    API: api.url,
    KEY: rootApiKey,
  }
  // A bash whose standard input is a socket reads its startup file, which may use unset variables.
  const running = promisify(execFile)('bash', ['--norc', '-euo', 'pipefail', '-c', commands], {
    env,
    timeout: 120_000 * patience,
  })
  // The database is new, so its only organization is the guide's. Other test files leave Worlds in other namespaces.
  const namespace = await eventually('the organization', async () => {
    const { body } = await createRest(api.url).call<{ documentId: string }[]>('GET', '/api/organizations/')
    return body[0] && `orrery-${body[0].documentId}`
  })
  const world = await eventually('the world', async () => {
    const { items } = await cluster.worlds.list({ namespace })
    return items[0]?.metadata
  })
  const pod = cluster.pod(namespace, world.name)
  await pod.exists()
  await pod.becomesReady()
  const { stdout } = await running
  expect(stdout).toMatch(new RegExp(`world.orrery.dev/${world.name} +First +Active`))
  expect(stdout).toMatch(new RegExp(`pod/${world.name}`))
})
