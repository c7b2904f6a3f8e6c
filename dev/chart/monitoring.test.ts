import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { alerts, dashboards } from './monitoring.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const read = (file: string): string => readFileSync(`${project}${file}`, 'utf8')

/** The names of metrics that the sources register, and those of Node. */
const registered = (): Set<string> => {
  const sources = globSync('{api,operator,shared}/**/*.ts', { cwd: project }).filter(
    (each) => !each.endsWith('.test.ts'),
  )
  const names = sources.flatMap((file) => [...read(file).matchAll(/'([a-z]+_[a-z_]+)'/g)].map(([, name]) => name ?? ''))
  const realtime = [...read('api/realtime/metrics.ts').matchAll(/(?:gauge|counter)\(\s*'([a-z_]+)'/g)].map(
    ([, name]) => `orrery_realtime_${name}`,
  )
  const controllers = [...read('shared/kube/metrics.ts').matchAll(/`\$\{prefix\}_([a-z_]+)`/g)].map(
    ([, name]) => `controller_runtime_${name}`,
  )
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return new Set([...names, ...realtime, ...controllers, ...registry.getMetricsAsArray().map(({ name }) => name), 'up'])
}

const functions = /^(sum|max|rate|by|le|absent|topk|or|histogram_quantile)$/

test('alerts and dashboards use only metrics that exist', () => {
  const known = registered()
  const expressions = [
    ...alerts.map(({ expression }) => expression),
    ...Object.values(dashboards).flatMap((panels) => panels.flatMap((panel) => Object.values(panel.expressions))),
  ]
  for (const expression of expressions) {
    const bare = expression.replaceAll(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)/g, '')
    const names = [...bare.matchAll(/[a-z_]{2,}/g)].map(([name]) => name.replace(/_(bucket|count|sum)$/, ''))
    expect(names.filter((name) => !functions.test(name)).filter((name) => !known.has(name))).toEqual([])
    expect(names.some((name) => known.has(name))).toBe(true)
  }
})

test('a 501 is no request error, since it is the answer of an installation without the feature', () => {
  const { expression = '' } = alerts.find(({ name }) => name === 'OrreryRequestErrors') ?? {}
  expect(expression.split(' / ')[0]).toContain('status!="501"')
})

test('every alert has a section in the runbook', () => {
  const sections = [...read('docs/alerts.md').matchAll(/^## (.+)$/gm)].map(([, title]) => title)
  expect(sections).toEqual(alerts.map(({ name }) => name))
})
