import { quantile } from '../report.ts'

/** The lines of the table, in their order: the title of each figure and its number of decimals. */
const lines = {
  creates: ['creates per second', 0],
  pods: ['pods per second, first create → last pod', 0],
  podP50: ['create answered → pod, p50 ms', 0],
  podP99: ['create answered → pod, p99 ms', 0],
  readyP50: ['create → Ready, p50 ms', 0],
  readyP99: ['create → Ready, p99 ms', 0],
  goneSeconds: ['first delete → all pods gone, s', 1],
  goneTotalCpu: ['… CPU of all processes, s', 1],
  goneApiServerCpu: ['… of the API server, s', 1],
  goneControllerCpu: ['… of the controller, s', 1],
  writes: ['writes of the controller per object', 2],
  totalCpu: ['first create → all Ready: CPU of all processes, s', 1],
  apiServerCpu: ['… of the API server, s', 1],
  controllerCpu: ['… of the controller, s', 1],
  rssMiB: ['memory of the controller after it, MiB', 0],
  restCpu: ['CPU of the controller in the first idle minute, s', 2],
  idleCpu: ['… and in the next idle minute, s', 2],
  clientCpu: ['CPU of the load generator, s', 1],
  clientLoop: ['load generator: share of time its thread was busy', 2],
  load: ['load average before', 1],
  speed: ['SHA-256 on one core before, MiB/s', 0],
} as const satisfies Record<string, readonly [string, number]>

/** The figures of one measurement. */
export type Figures = { readonly [K in keyof typeof lines]?: number }

const keys = Object.keys(lines) as (keyof typeof lines)[]

/**
 * Returns a Markdown table with a column for each subject: the median of its rounds, and the lowest and highest value if
 * there are several. Lines without figures are left out.
 */
export const formatTable = (columns: ReadonlyMap<string, readonly Figures[]>): string => {
  const cells = (key: keyof typeof lines) => [...columns.values()].map((rounds) => formatCell(rounds, key))
  const rows = keys
    .map((key) => [lines[key][0], ...cells(key)])
    .filter(([, ...values]) => values.some((value) => value !== '–'))
  const header = ['', ...columns.keys()]
  return [header, header.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n')
}

const formatCell = (rounds: readonly Figures[], key: keyof typeof lines): string => {
  const values = rounds.flatMap((figures) => figures[key] ?? [])
  if (values.length === 0) return '–'
  const text = (value: number): string => value.toFixed(lines[key][1])
  const median = text(quantile(values, 0.5))
  return values.length === 1 ? median : `${median} (${text(Math.min(...values))}–${text(Math.max(...values))})`
}
