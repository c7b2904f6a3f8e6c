import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { obtainGoProgram } from '#dev/goPrograms.ts'

const chart = fileURLToPath(new URL('../../charts/orrery', import.meta.url))
const dir = mkdtempSync(join(tmpdir(), 'orrery-alerts-'))

type Rule = {
  alert: string
  for: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
/** Series in the notation of promtool, by name with labels: `0+5x60` grows by 5 each minute for an hour. */
type Series = Readonly<Record<string, string>>

let promtool: string
let rules: readonly Rule[]
const rulesFile = join(dir, 'rules.yaml')
const run = (command: string, ...args: string[]): string =>
  execFileSync(command, args, { encoding: 'utf8', timeout: 120_000, stdio: ['ignore', 'pipe', 'pipe'] })

beforeAll(async () => {
  const options = { env: process.env, progress: (line: string) => void process.stderr.write(`[alerts] ${line}\n`) }
  const helm = await obtainGoProgram('helm', options)
  promtool = await obtainGoProgram('promtool', options)
  const template = ['--show-only', 'templates/monitoring/rules.yaml', '--set', 'metrics.prometheusRule.enabled=true']
  const { spec } = parse(run(helm, 'template', 'orrery', chart, ...template)) as {
    spec: { groups: { rules: Rule[] }[] }
  }
  rules = spec.groups.flatMap((group) => group.rules)
  writeFileSync(rulesFile, stringify(spec))
}, 900_000)

const ruleOf = (alert: string): Rule => {
  const rule = rules.find((each) => each.alert === alert)
  if (rule === undefined) throw new Error(`The chart has no alert ${alert}.`)
  return rule
}

/** The output of promtool if the alert is not in this state at these minutes, else its note of success. */
const testRule = (alert: string, series: Series, firingAt: Readonly<Record<number, boolean>>, labels: object = {}) => {
  const rule = ruleOf(alert)
  const firing = { exp_labels: { ...rule.labels, ...labels }, exp_annotations: rule.annotations }
  const file = join(dir, `${alert}.yaml`)
  const unitTest = {
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    alert_rule_test: Object.entries(firingAt).map(([minute, isFiring]) => ({
      eval_time: `${minute}m`,
      alertname: alert,
      exp_alerts: isFiring ? [firing] : [],
    })),
  }
  writeFileSync(file, stringify({ rule_files: [rulesFile], evaluation_interval: '1m', tests: [unitTest] }))
  try {
    return run(promtool, 'test', 'rules', file)
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    return stdout + stderr
  }
}

const api = (pod: string): string => `job="orrery-api-metrics",pod="api-${pod}"`
const operator = (pod: string): string => `job="orrery-operator-metrics",pod="operator-${pod}"`
/** A process of another product that the same Prometheus reads. */
const other = 'job="other",pod="other"'
const always = (value: number): string => `${value}x60`
const growing = (perMinute: number): string => `0+${perMinute}x60`
const [replica, second] = [api('a'), api('b')]
const leader = operator('a')

const requests = (of: string, byStatus: Readonly<Record<string, number>>): Series =>
  Object.fromEntries(
    Object.entries(byStatus).map(([status, perMinute]) => [
      `http_request_duration_seconds_count{${of},status="${status}"}`,
      growing(perMinute),
    ]),
  )
/** A histogram with this number of observations per minute up to each bound. */
const histogram = (name: string, of: string, byBound: Readonly<Record<string, number>>): Series =>
  Object.fromEntries(
    Object.entries(byBound).map(([le, perMinute]) => [`${name}_bucket{${of},le="${le}"}`, growing(perMinute)]),
  )
/** Counters of one metric by their label `result`. */
const results = (name: string, perMinute: Readonly<Record<string, number>>): Series =>
  Object.fromEntries(
    Object.entries(perMinute).map(([result, each]) => [`${name}{${replica},result="${result}"}`, growing(each)]),
  )
const worlds = (inError: number): Series =>
  Object.fromEntries(
    [leader, operator('b')].flatMap((of) => [
      [`orrery_worlds{${of},phase="Error"}`, always(inError)],
      [`orrery_worlds{${of},phase="Active"}`, always(100 - inError)],
    ]),
  )
const start = 'orrery_world_start_seconds'
const duration = 'http_request_duration_seconds'

/** Series at which the alert fires, series within its limit, and the labels that it has beside those of its rule. */
const cases: readonly [alert: string, fires: Series, quiet: Series, labels?: object][] = [
  [
    'OrreryApiDown',
    { [`up{${replica}}`]: always(0), [`up{${second}}`]: always(0), [`up{${other}}`]: always(1) },
    { [`up{${replica}}`]: always(0), [`up{${second}}`]: always(1) },
  ],
  ['OrreryApiDown', { [`up{${other}}`]: always(1) }, { [`up{${replica}}`]: always(1) }],
  [
    'OrreryOperatorDown',
    { [`up{${leader}}`]: always(0), [`up{${replica}}`]: always(1) },
    { [`up{${leader}}`]: always(0), [`up{${operator('b')}}`]: always(1) },
  ],
  ['OrreryOperatorDown', { [`up{${replica}}`]: always(1) }, { [`up{${leader}}`]: always(1) }],
  [
    'OrreryOperatorNoLeader',
    {
      [`leader_election_master_status{${leader}}`]: always(0),
      [`leader_election_master_status{${operator('b')}}`]: always(0),
      [`leader_election_master_status{${other}}`]: always(1),
    },
    {
      [`leader_election_master_status{${leader}}`]: always(0),
      [`leader_election_master_status{${operator('b')}}`]: always(1),
    },
  ],
  [
    'OrreryRequestErrors',
    { ...requests(replica, { 200: 97, 500: 2, 503: 1 }), ...requests(other, { 200: 100_000 }) },
    { ...requests(replica, { 200: 98, 500: 1, 404: 1 }), ...requests(other, { 500: 100_000 }) },
  ],
  [
    'OrreryRequestsSlow',
    {
      ...histogram(duration, replica, { 1: 98, 2.5: 100, '+Inf': 100 }),
      ...histogram(duration, other, { 1: 100_000, '+Inf': 100_000 }),
    },
    {
      ...histogram(duration, replica, { 1: 991, 2.5: 1_000, '+Inf': 1_000 }),
      ...histogram(duration, other, { 1: 0, 2.5: 100_000, '+Inf': 100_000 }),
    },
  ],
  [
    'OrrerySyncBehind',
    { [`orrery_outbox_depth{${replica}}`]: always(501), [`orrery_outbox_depth{${second}}`]: always(0) },
    { [`orrery_outbox_depth{${replica}}`]: always(500), [`orrery_outbox_depth{${second}}`]: always(500) },
  ],
  [
    'OrreryRowStuck',
    {
      [`orrery_oldest_dirty_row_seconds{${replica},cluster="a"}`]: always(0),
      [`orrery_oldest_dirty_row_seconds{${replica},cluster="b"}`]: always(601),
    },
    { [`orrery_oldest_dirty_row_seconds{${replica},cluster="a"}`]: always(600) },
    { cluster: 'b' },
  ],
  [
    'OrreryClusterRefused',
    { [`orrery_cluster_accepted{${replica}}`]: always(0), [`orrery_cluster_accepted{${second}}`]: always(1) },
    { [`orrery_cluster_accepted{${replica}}`]: always(1), [`orrery_cluster_accepted{${second}}`]: always(1) },
  ],
  [
    'OrrerySweepHeld',
    { [`orrery_held_resources{${replica}}`]: always(6) },
    { [`orrery_held_resources{${replica}}`]: always(0) },
  ],
  ...(['orrery_frozen_rows', 'orrery_orphans'] as const).map((name): (typeof cases)[number] => [
    'OrreryOutOfStep',
    { [`${name}{${replica},kind="World"}`]: always(0), [`${name}{${replica},kind="BotDeployment"}`]: always(1) },
    { [`${name}{${replica},kind="World"}`]: always(0) },
  ]),
  [
    'OrreryStrangers',
    { [`orrery_strangers{${replica},kind="World"}`]: always(1) },
    { [`orrery_strangers{${replica},kind="World"}`]: always(0) },
  ],
  ['OrreryWorldsInError', worlds(6), worlds(5)],
  [
    'OrreryWorldsStartSlowly',
    histogram(start, leader, { 60: 89, 120: 100, '+Inf': 100 }),
    histogram(start, leader, { 60: 90, 120: 100, '+Inf': 100 }),
  ],
  [
    'OrreryServersRestart',
    { [`orrery_world_restarts_total{${leader}}`]: growing(3) },
    { [`orrery_world_restarts_total{${leader}}`]: growing(2) },
  ],
  [
    'OrreryReconcileErrors',
    { [`controller_runtime_reconcile_errors_total{${leader},controller="world"}`]: growing(66) },
    {
      [`controller_runtime_reconcile_errors_total{${leader},controller="world"}`]: growing(54),
      [`controller_runtime_reconcile_errors_total{${other},controller="other"}`]: growing(1_000),
    },
    { controller: 'world' },
  ],
  [
    'OrreryRealtimeBehind',
    {
      [`orrery_realtime_tail_silence_seconds{${replica}}`]: always(31),
      [`orrery_realtime_tail_silence_seconds{${second}}`]: always(0),
    },
    { [`orrery_realtime_tail_silence_seconds{${replica}}`]: always(30) },
  ],
  [
    'OrreryWebhooksFailing',
    results('orrery_webhook_attempts_total', { Delivered: 49, TimedOut: 30, ErrorStatus: 21 }),
    results('orrery_webhook_attempts_total', { Delivered: 50, TimedOut: 50 }),
  ],
  ['OrreryWebhooksFailing', results('orrery_webhook_attempts_total', { TimedOut: 1 }), {}],
  [
    'OrreryWebhooksBehind',
    { [`orrery_webhook_oldest_due_seconds{${replica}}`]: always(601) },
    { [`orrery_webhook_oldest_due_seconds{${replica}}`]: always(600) },
  ],
  ...['NoAnswer', 'NotTrusted', 'TicketRefused', 'NodeUnreachable', 'Busy'].map((result): (typeof cases)[number] => [
    'OrreryLogsFailing',
    results('orrery_logs_opened_total', { Opened: 40, NotFound: 9, [result]: 51 }),
    results('orrery_logs_opened_total', { Opened: 1, NotFound: 29, NotStarted: 20, [result]: 50 }),
  ]),
]

test('promtool accepts the rules', () => {
  expect(run(promtool, 'check', 'rules', '--lint=all', '--lint-fatal', rulesFile)).toContain(
    `${rules.length} rules found`,
  )
})

test('every alert has a test', () => {
  expect([...new Set(cases.map(([alert]) => alert))].sort()).toEqual(rules.map(({ alert }) => alert).sort())
})

test.each(cases)('%s fires after its delay, and not within its limit', (alert, fires, quiet, labels) => {
  const delayMinutes = Number.parseInt(ruleOf(alert).for, 10)
  expect(testRule(alert, fires, { [delayMinutes - 1]: false, 40: true }, labels)).toContain('SUCCESS')
  expect(testRule(alert, quiet, { 40: false })).toContain('SUCCESS')
})
