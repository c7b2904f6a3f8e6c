import { afterAll, beforeAll, expect, test } from 'vitest'
import { groupVersion } from '#shared/resources/group.ts'
import { aCluster } from '#test/support/cluster.ts'
import { readMetric } from '#test/support/metrics.ts'
import { logLines, startOperator } from '#test/support/processes.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const namespace = 'without-rights'
let operator: Awaited<ReturnType<typeof startOperator>>

beforeAll(async () => {
  cluster.kubectl('create', 'namespace', namespace)
  operator = await startOperator()
})
afterAll(async () => {
  await operator?.stop()
  cluster.kubectl('delete', 'namespace', namespace, '--wait=false')
  await cluster.close()
})

test('without rights in a namespace, the operator logs one line a minute for it, however often it tries', async () => {
  for (let at = 0; at < 5; at += 1) {
    const metadata = { name: `w-${at}`, namespace }
    await cluster.worlds.create({ apiVersion: groupVersion, kind: 'World', metadata, spec: { state: 'Running' } })
  }
  const failures = 'controller_runtime_reconcile_errors_total{controller="world"}'
  await eventually('50 failures', async () => (await readMetric(`${operator.url}/metrics`, failures)) >= 50)
  const isAboutRights = (line: Record<string, unknown>) => JSON.stringify(line).includes(`namespace \\"${namespace}`)
  const lines = logLines(operator.logFile).filter(isAboutRights)
  expect(lines[0]).toMatchObject({ missing: { namespace, count: 1 } })
  // A minute may have passed since the first one.
  expect(lines.length).toBeLessThan(3)
})
