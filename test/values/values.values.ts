import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { type Outcome, prepareReleases, type Release } from '#test/support/chart.ts'
import { fc } from '#test/support/fastCheck.ts'
import { drawSeed } from '#test/support/seed.ts'
import { type Leaf, leavesOf } from './generators.ts'

const seed = drawSeed('ORRERY_VALUES_SEED')
const count = Number(process.env.ORRERY_VALUES ?? 400)
const chart = new URL('../../charts/orrery/', import.meta.url)
const read = (file: string): string => readFileSync(new URL(file, chart), 'utf8')

const namespaces = ['orrery', '123', 'n'.repeat(63)]
const names = ['orrery', 'r'.repeat(53), `${'r'.repeat(39)}-${'s'.repeat(13)}`, '1', 'true', 'my.release', '1e3']

type Values = Record<string, unknown>

/** Values that turn on what depends on others. */
const bases: readonly Values[] = [
  {},
  {
    publicUrl: 'https://a.example',
    ingress: { enabled: true },
    httpRoute: { enabled: true, parentRefs: [{ name: 'g' }] },
  },
  { database: { mode: 'cnpg' }, objectStore: { type: 's3', s3: { bucket: 'b' } }, logs: { enabled: false } },
  {
    flowControl: { tenants: { enabled: true } },
    tracing: { endpoint: 'http://collector:4318' },
    route: { gateway: 'gateways/players', url: 'wss://*.worlds.example' },
  },
  {
    metrics: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true }, dashboards: { enabled: true } },
    api: { clusters: [{ name: 'eu', places: [] }], tls: { existingSecret: 'tls' } },
  },
]

/** Texts of the chart: the names of its variables, volumes, labels and paths. */
const known = ['templates/api/deployment.yaml', 'templates/operator/deployment.yaml', 'templates/_helpers.tpl'].flatMap(
  (file) => [...new Set(read(file).match(/[\w./-]{3,60}/g))],
)

const objects = fc.record({
  apiVersion: fc.constant('v1'),
  kind: fc.constant('ConfigMap'),
  metadata: fc.record({ name: fc.constantFrom('a', '{{ .Release.Namespace }}', '1') }),
})
const special = {
  'operator.worldNamespaces': fc.array(fc.constantFrom(...namespaces), { maxLength: 2 }),
  extraObjects: fc.array(objects, { maxLength: 2 }),
}

const isObject = (value: unknown): value is Values =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns the values with one more. What is in its way stays. */
const withLeaf = (values: Values, [key = '', ...rest]: readonly string[], value: unknown): Values => {
  if (rest.length === 0) return { ...values, [key]: value }
  const below = values[key] ?? {}
  return isObject(below) ? { ...values, [key]: withLeaf(below, rest, value) } : values
}

const releases: fc.Arbitrary<Release & { leaves: Leaf[] }> = fc
  .record({
    name: fc.oneof(
      { weight: 5, arbitrary: fc.constant('orrery') },
      { weight: 1, arbitrary: fc.constantFrom(...names) },
    ),
    namespace: fc.constantFrom(...namespaces),
    base: fc.constantFrom(...bases),
    leaves: leavesOf(JSON.parse(read('values.schema.json')), known, special),
  })
  .map(({ base, leaves, ...release }) => ({
    ...release,
    leaves,
    values: leaves.reduce<Values>((values, { path, value }) => withLeaf(values, path, value), base),
  }))

let tryRelease: (release: Release) => Promise<Outcome>
beforeAll(async () => {
  tryRelease = await prepareReleases(namespaces)
}, 600_000)

/** Reports whether a message names one of the values by its first two keys, or the release. */
const isNamed = (message: string, leaves: readonly Leaf[]): boolean =>
  /nameOverride/.test(message) ||
  leaves.some(({ path: [first = '', second = first] }) => message.includes(first) && message.includes(second))

test('values of the schema are refused by name while Helm renders them, or the API server accepts every object', async () => {
  const counts = new Map<Outcome['is'], number>([
    ['refused by the schema', 0],
    ['refused by a rule', 0],
    ['accepted', 0],
  ])
  const failures: string[] = []
  for (const release of fc.sample(releases, { seed, numRuns: count })) {
    const { is, message } = await tryRelease(release)
    counts.set(is, (counts.get(is) ?? 0) + 1)
    if (is === 'broken' || (is !== 'accepted' && !isNamed(message, release.leaves))) {
      const { name, namespace, values } = release
      failures.push(
        `${message.slice(0, 1_500)}; release: ${JSON.stringify({ name, namespace, values }).slice(0, 3_000)}`,
      )
    }
  }
  process.stdout.write(`values: ${[...counts].map(([is, times]) => `${is} ${times}`).join(', ')}\n`)
  expect(failures).toEqual([])
  expect([...counts].filter(([, times]) => times === 0)).toEqual([])
})
