/** An alert. Its section in docs/alerts.md has the same name. */
type Alert = {
  readonly name: string
  readonly severity: 'critical' | 'warning'
  readonly expression: string
  readonly for: string
  readonly summary: string
}

// Other products have metrics of the same names (HTTP requests, controllers), so their jobs are excluded.
const api = 'job=~".*-api-metrics"'
const operator = 'job=~".*-operator-metrics"'
const both = 'job=~".*-(api|operator)-metrics"'

/** The alerts of the chart. */
export const alerts: readonly Alert[] = [
  {
    name: 'OrreryApiDown',
    severity: 'critical',
    expression: `sum(up{${api}}) < 1 or absent(up{${api}})`,
    for: '2m',
    summary: 'No replica of the API answers.',
  },
  {
    name: 'OrreryOperatorDown',
    severity: 'critical',
    expression: `sum(up{${operator}}) < 1 or absent(up{${operator}})`,
    for: '5m',
    summary: 'No replica of the operator answers. Running worlds keep running, but nothing starts or stops.',
  },
  {
    name: 'OrreryOperatorNoLeader',
    severity: 'critical',
    expression: `sum(leader_election_master_status{${operator}}) < 1`,
    for: '2m',
    summary: 'No replica of the operator holds the lease.',
  },
  {
    name: 'OrreryRequestErrors',
    severity: 'warning',
    expression:
      `sum(rate(http_request_duration_seconds_count{${api},status=~"5..",status!="501"}[5m])) / ` +
      `sum(rate(http_request_duration_seconds_count{${api}}[5m])) > 0.02`,
    for: '5m',
    summary: 'More than 2 % of the REST requests fail with a 5xx status.',
  },
  {
    name: 'OrreryRequestsSlow',
    severity: 'warning',
    expression: `histogram_quantile(0.99, sum by (le) (rate(http_request_duration_seconds_bucket{${api}}[5m]))) > 1`,
    for: '10m',
    summary: 'The slowest 1 % of the REST requests take longer than 1 s.',
  },
  {
    name: 'OrrerySyncBehind',
    severity: 'warning',
    expression: 'max(orrery_outbox_depth) > 500',
    for: '5m',
    summary: 'More than 500 rows wait to be pushed to the cluster.',
  },
  {
    name: 'OrreryRowStuck',
    severity: 'warning',
    expression: 'max by (cluster) (orrery_oldest_dirty_row_seconds) > 600',
    for: '5m',
    summary: 'A row has waited for more than 10 minutes to be pushed to the cluster.',
  },
  {
    name: 'OrreryClusterRefused',
    severity: 'critical',
    expression: 'max(1 - orrery_cluster_accepted) > 0',
    for: '1m',
    summary: 'The API refuses its cluster. Nothing is pushed or pulled.',
  },
  {
    name: 'OrrerySweepHeld',
    severity: 'critical',
    expression: 'max(orrery_held_resources) > 0',
    for: '1m',
    summary: 'Many resources are missing in the cluster. The API waits for acceptance.',
  },
  {
    name: 'OrreryOutOfStep',
    severity: 'warning',
    expression: 'max(orrery_frozen_rows) > 0 or max(orrery_orphans) > 0',
    for: '5m',
    summary: 'Rows are frozen, or resources have no row.',
  },
  {
    name: 'OrreryStrangers',
    severity: 'warning',
    expression: 'max(orrery_strangers) > 0',
    for: '10m',
    summary: 'A resource has the name of a world, but is in another namespace.',
  },
  {
    name: 'OrreryWorldsInError',
    severity: 'warning',
    expression: 'max(orrery_worlds{phase="Error"}) / max(sum by (pod) (orrery_worlds)) > 0.05',
    for: '10m',
    summary: 'More than 5 % of the worlds are in phase Error.',
  },
  {
    name: 'OrreryWorldsStartSlowly',
    severity: 'warning',
    expression: 'histogram_quantile(0.9, sum by (le) (rate(orrery_world_start_seconds_bucket[10m]))) > 60',
    for: '10m',
    summary: 'The slowest 10 % of the worlds need more than a minute to become Active.',
  },
  {
    name: 'OrreryServersRestart',
    severity: 'warning',
    expression: 'sum(rate(orrery_world_restarts_total[10m])) * 600 > 20',
    for: '10m',
    summary: 'More than 20 servers restarted within 10 minutes.',
  },
  {
    name: 'OrreryReconcileErrors',
    severity: 'warning',
    expression: `sum by (controller) (rate(controller_runtime_reconcile_errors_total{${both}}[5m])) > 1`,
    for: '10m',
    summary: 'A controller fails more than once a second.',
  },
  {
    name: 'OrreryRealtimeBehind',
    severity: 'warning',
    expression: 'max(orrery_realtime_tail_silence_seconds) > 30',
    for: '1m',
    summary: 'A replica of the API has not read changes for 30 s, so its clients see old states.',
  },
  {
    name: 'OrreryWebhooksFailing',
    severity: 'warning',
    expression:
      'sum(rate(orrery_webhook_attempts_total{result!="Delivered"}[15m])) / ' +
      'sum(rate(orrery_webhook_attempts_total[15m])) > 0.5',
    for: '15m',
    summary: 'More than half of the attempts to deliver messages to webhooks fail.',
  },
  {
    name: 'OrreryWebhooksBehind',
    severity: 'warning',
    expression: 'max(orrery_webhook_oldest_due_seconds) > 600',
    for: '10m',
    summary: 'A message to a webhook has been due for more than 10 minutes without an attempt.',
  },
  {
    name: 'OrreryLogsFailing',
    severity: 'warning',
    expression:
      'sum(rate(orrery_logs_opened_total{result!~"Opened|NotFound|NotStarted"}[10m])) / ' +
      'sum(rate(orrery_logs_opened_total[10m])) > 0.5',
    for: '10m',
    summary: 'More than half of the logs that are requested cannot be read.',
  },
]

type Panel = { readonly title: string; readonly expressions: Readonly<Record<string, string>>; readonly unit?: string }

/** The dashboards of the chart: panels by title of the dashboard. A key of `expressions` is the legend. */
export const dashboards: Readonly<Record<string, readonly Panel[]>> = {
  fleet: [
    { title: 'Worlds by phase', expressions: { '{{phase}}': 'max by (phase) (orrery_worlds)' } },
    { title: 'Players', expressions: { '{{state}}': 'max by (state) (orrery_players)' } },
    {
      title: 'Start of a world',
      unit: 's',
      expressions: Object.fromEntries(
        [0.5, 0.9, 0.99].map((quantile) => [
          `p${quantile * 100}`,
          `histogram_quantile(${quantile}, sum by (le) (rate(orrery_world_start_seconds_bucket[$__rate_interval])))`,
        ]),
      ),
    },
    {
      title: 'Stages of a start, p90',
      unit: 's',
      expressions: {
        '{{stage}}':
          'histogram_quantile(0.9, sum by (le, stage) (rate(orrery_world_start_stage_seconds_bucket[$__rate_interval])))',
      },
    },
    {
      title: 'Runs ended per minute',
      expressions: { '{{reason}}': 'sum by (reason) (rate(orrery_runs_ended_total[$__rate_interval])) * 60' },
    },
    {
      title: 'Restarts per minute',
      expressions: { restarts: 'sum(rate(orrery_world_restarts_total[$__rate_interval])) * 60' },
    },
    { title: 'Rows waiting for push', expressions: { rows: 'max(orrery_outbox_depth)' } },
    {
      title: 'Oldest row waiting for push',
      unit: 's',
      expressions: { '{{cluster}}': 'max by (cluster) (orrery_oldest_dirty_row_seconds)' },
    },
    {
      title: 'Sync delay, p99',
      unit: 's',
      expressions: {
        push: 'histogram_quantile(0.99, sum by (le) (rate(orrery_push_seconds_bucket[$__rate_interval])))',
        pull: 'histogram_quantile(0.99, sum by (le) (rate(orrery_pull_seconds_bucket[$__rate_interval])))',
      },
    },
    {
      title: 'Differences that sync does not resolve',
      expressions: {
        'frozen rows': 'max(sum by (pod) (orrery_frozen_rows))',
        orphans: 'max(sum by (pod) (orrery_orphans))',
        strangers: 'max(sum by (pod) (orrery_strangers))',
      },
    },
  ],
  api: [
    {
      title: 'Requests per second',
      expressions: {
        '{{status}}': `sum by (status) (rate(http_request_duration_seconds_count{${api}}[$__rate_interval]))`,
      },
    },
    {
      title: 'Duration of requests, p99',
      unit: 's',
      expressions: {
        '{{method}} {{route}}': `topk(10, histogram_quantile(0.99, sum by (le, method, route) (rate(http_request_duration_seconds_bucket{${api}}[$__rate_interval]))))`,
      },
    },
    { title: 'Open sockets', expressions: { '{{pod}}': 'sum by (pod) (orrery_realtime_connections)' } },
    {
      title: 'Deliveries per second',
      expressions: { deliveries: 'sum(rate(orrery_realtime_deliveries_total[$__rate_interval]))' },
    },
    {
      title: 'Delivery lag, p99',
      unit: 's',
      expressions: {
        lag: 'histogram_quantile(0.99, sum by (le) (rate(orrery_realtime_lag_seconds_bucket[$__rate_interval])))',
      },
    },
    {
      title: 'Closed sockets per second',
      expressions: { '{{reason}}': 'sum by (reason) (rate(orrery_realtime_closed_total[$__rate_interval]))' },
    },
    {
      title: 'Attempts of webhooks per second',
      expressions: { '{{result}}': 'sum by (result) (rate(orrery_webhook_attempts_total[$__rate_interval]))' },
    },
    {
      title: 'Time of an attempt of a webhook, p99',
      unit: 's',
      expressions: {
        attempt:
          'histogram_quantile(0.99, sum by (le) (rate(orrery_webhook_attempt_seconds_bucket[$__rate_interval])))',
      },
    },
    { title: 'Pending deliveries of webhooks', expressions: { deliveries: 'max(orrery_webhook_pending_deliveries)' } },
    {
      title: 'Oldest due delivery of a webhook',
      unit: 's',
      expressions: { waiting: 'max(orrery_webhook_oldest_due_seconds)' },
    },
    {
      title: 'Webhooks deactivated per hour',
      expressions: { '{{reason}}': 'sum by (reason) (rate(orrery_webhooks_disabled_total[$__rate_interval])) * 3600' },
    },
    {
      title: 'Logs opened per second',
      expressions: { '{{result}}': 'sum by (result) (rate(orrery_logs_opened_total[$__rate_interval]))' },
    },
    { title: 'Logs being read', expressions: { '{{pod}}': 'sum by (pod) (orrery_logs_open)' } },
    { title: 'Memory', unit: 'bytes', expressions: { '{{pod}}': `process_resident_memory_bytes{${api}}` } },
    { title: 'CPU', expressions: { '{{pod}}': `rate(process_cpu_seconds_total{${api}}[$__rate_interval])` } },
  ],
  operator: [
    { title: 'Leader', expressions: { '{{pod}}': `sum by (pod) (leader_election_master_status{${operator}})` } },
    {
      title: 'Reconciles per second',
      expressions: {
        '{{controller}} {{result}}': `sum by (controller, result) (rate(controller_runtime_reconcile_total{${operator}}[$__rate_interval]))`,
      },
    },
    {
      title: 'Time in the queue, p99',
      unit: 's',
      expressions: {
        '{{name}}': `histogram_quantile(0.99, sum by (le, name) (rate(workqueue_queue_duration_seconds_bucket{${operator}}[$__rate_interval])))`,
      },
    },
    { title: 'Keys in the queue', expressions: { '{{name}}': `sum by (name) (workqueue_depth{${operator}})` } },
    {
      title: 'Requests to the API server per second',
      expressions: { '{{code}}': `sum by (code) (rate(rest_client_requests_total{${operator}}[$__rate_interval]))` },
    },
    { title: 'Memory', unit: 'bytes', expressions: { '{{pod}}': `process_resident_memory_bytes{${operator}}` } },
  ],
}

/** Returns the rules of the chart as YAML-compatible JSON, without the labels of a release. */
export const ruleGroups = (): object[] => [
  {
    name: 'orrery',
    rules: alerts.map(({ name, severity, expression, summary, for: duration }) => ({
      alert: name,
      expr: expression,
      for: duration,
      labels: { severity },
      annotations: {
        summary,
        runbook: `docs/alerts.md#${name.toLowerCase()}`,
      },
    })),
  },
]

/** Returns a dashboard as Grafana imports it. */
export const dashboardJson = (name: string, panels: readonly Panel[]): object => ({
  uid: `orrery-${name}`,
  title: `Orrery ${name}`,
  tags: ['orrery'],
  schemaVersion: 39,
  time: { from: 'now-6h', to: 'now' },
  refresh: '30s',
  templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' }] },
  panels: panels.map(({ title, expressions, unit = 'short' }, at) => ({
    id: at + 1,
    type: 'timeseries',
    title,
    datasource: { type: 'prometheus', uid: '$datasource' },
    gridPos: { x: (at % 2) * 12, y: Math.floor(at / 2) * 8, w: 12, h: 8 },
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets: Object.entries(expressions).map(([legendFormat, expr], index) => ({
      refId: String.fromCharCode(65 + index),
      expr,
      legendFormat,
    })),
  })),
})
