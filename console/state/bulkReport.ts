import type { BulkKind } from './bulk/plan.ts'
import { groupFailures, idsWith, type Problem, type Progress } from './bulk/progress.ts'
import { formatCount } from './format.ts'
import { escapeText } from './report.ts'
import { explainFailure } from './texts.ts'

/** The participle of each action that is done. */
export const doneWords: Readonly<Record<BulkKind, string>> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  delete: 'deleted',
}

/** Worlds with the same result. `problem` is that of a failure, with what to do about it. Its detail may be one of several. */
export type ResultGroup = {
  readonly title: string
  readonly ids: readonly string[]
  readonly problem?: Problem & { readonly remedy: string }
}

/** Returns the worlds of an action by result, those that need attention first. Each world with a result is in one group. */
export const groupResults = (progress: Progress): ResultGroup[] => {
  const failures = groupFailures(progress).map(({ problem, isExample, ids }) => {
    if (problem === undefined) return { title: `${formatCount(ids.length)} failed for other reasons`, ids }
    const { title, remedy } = explainFailure({ ...problem, requestId: undefined, retryAfterSeconds: undefined })
    const detail = isExample ? `${problem.detail} (an example)` : problem.detail
    return { title: `${formatCount(ids.length)} failed: ${title}`, ids, problem: { ...problem, detail, remedy } }
  })
  const others = [
    ['unknown', 'not known: no answer tells the result, so look at the phase'],
    ['skipped', 'not sent'],
    ['done', doneWords[progress.kind]],
  ] as const
  return [
    ...failures,
    ...others.flatMap(([outcome, text]) => {
      const ids = idsWith(progress, outcome)
      return ids.length === 0 ? [] : [{ title: `${formatCount(ids.length)} ${text}`, ids }]
    }),
  ]
}

/** The most worlds of a group in a report. */
const maxWorlds = 50

/**
 * Returns the result of an action for a ticket, as Markdown. What tenants wrote is escaped. A group names at most 50 worlds and says how
 * many more it has.
 */
export const writeBulkReport = ({
  title,
  groups,
  nameOf,
  nowMs,
}: {
  readonly title: string
  readonly groups: readonly ResultGroup[]
  readonly nameOf: (id: string) => string
  readonly nowMs: number
}): string => {
  const parts = groups.map(({ title, ids, problem }) => {
    const worlds = ids.slice(0, maxWorlds).map((id) => `- ${escapeText(nameOf(id))} (${escapeText(id)})`)
    const rest = ids.length - worlds.length
    const detail = problem === undefined ? '' : `\n\n${escapeText(`${problem.code}: ${problem.detail}`)}`
    return `### ${title}${detail}\n\n${[...worlds, ...(rest === 0 ? [] : [`- and ${formatCount(rest)} more`])].join('\n')}`
  })
  return `${[`## ${title}`, ...parts, `Read at ${new Date(nowMs).toISOString()}.`].join('\n\n')}\n`
}
