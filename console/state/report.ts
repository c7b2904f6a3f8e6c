import type { Event, World, WorldDeployment } from '#client/operations.ts'
import { toVisible } from './visible.ts'

const maxEvents = 20

/**
 * Returns the newest run of a world: that of its status, or the first of the list. Undefined if it was not read, since the runs are
 * read oldest first.
 */
export const newestRun = (
  { items, hasMore }: { readonly items: readonly WorldDeployment[]; readonly hasMore: boolean },
  runId: string | undefined,
): WorldDeployment | undefined => items.find((run) => run.runId === runId) ?? (hasMore ? undefined : items[0])

/**
 * Returns a report of a world for a ticket, as Markdown. What tenants wrote is escaped, so that it cannot add a link, a picture or a
 * heading. It contains no setting of the server and no log, which may hold secrets.
 */
export const writeReport = ({
  world,
  sentence,
  run,
  events,
  nowMs,
}: {
  readonly world: Pick<World, 'documentId' | 'projectId' | 'organizationId' | 'name' | 'status'>
  /** Absent if the reason could not be loaded. */
  readonly sentence: string | undefined
  readonly run: WorldDeployment | undefined
  /** The events of the world, newest first. */
  readonly events: readonly Event[]
  readonly nowMs: number
}): string => {
  const { status } = world
  const facts = [
    ['World', world.documentId],
    ['Project', world.projectId],
    ['Organization', world.organizationId],
    ['Phase', status.phase],
    ['Message', status.message],
    ['Run', status.runId ?? ''],
  ] as const
  const parts = [
    `## ${escapeText(world.name)}: ${status.phase}`,
    ...(sentence === undefined ? [] : [escapeText(sentence)]),
    facts.flatMap(([name, value]) => (value === '' ? [] : [`- ${name}: ${escapeText(value)}`])).join('\n'),
    ...section('Conditions', status.conditions, ['Type', 'Status', 'Reason', 'Message', 'Since'], (each) => [
      each.type,
      each.status,
      each.reason,
      each.message,
      each.lastTransitionAt,
    ]),
    ...(run === undefined ? [] : [`### Newest run\n\n${describeRun(run)}`]),
    ...section('Events', events.slice(0, maxEvents), ['Time', 'Type', 'Reason', 'Message'], (each) => [
      each.createdAt,
      each.type,
      each.reason,
      each.message,
    ]),
    `Read at ${new Date(nowMs).toISOString()}.`,
  ]
  return `${parts.join('\n\n')}\n`
}

const describeRun = (run: WorldDeployment): string =>
  [
    ['Deployment', run.id],
    ['Status', run.status],
    ['Requested', run.createdAt],
    ['Started', run.startedAt],
    ['Ready', run.readyAt],
    ['Ended', run.endedAt],
    ['End reason', run.endReason],
    ['Exit code', run.exitCode],
    ['Restarts', run.restarts],
    ['Image', run.image],
  ]
    .flatMap(([name, value]) => (value === undefined ? [] : [`- ${name}: ${escapeText(String(value))}`]))
    .join('\n')

const section = <T>(
  title: string,
  items: readonly T[],
  columns: readonly string[],
  cellsOf: (item: T) => readonly string[],
): string[] => {
  if (items.length === 0) return []
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  const rows = items.map((item) => row(cellsOf(item).map(escapeText)))
  return [`### ${title}\n\n${[row(columns), row(columns.map(() => '---')), ...rows].join('\n')}`]
}

/** Returns a text in one line, with what Markdown would read as markup escaped, and the `@` and `:` that make mentions and links. */
export const escapeText = (text: string): string =>
  toVisible(text.replace(/\s+/g, ' ').trim())
    .replace(/[\\`*_[\]<>|~&]/g, '\\$&')
    .replace(/^(?=[#+=-])|(?<=^\d+)(?=[.)])/, '\\')
    .replace(/@/g, '&#64;')
    .replace(/:\/\//g, '&#58;//')
    .replace(/\bwww\./gi, 'www&#46;')
