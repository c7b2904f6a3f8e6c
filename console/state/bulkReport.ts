import type { BulkKind } from './bulk/plan.ts'
import { groupFailures, idsWith, type Problem, type Progress } from './bulk/progress.ts'
import { formatCount } from './format.ts'
import { escapeText } from './report.ts'
import { explainFailure } from './texts.ts'

/** The words for what the API has done. It accepts starts, which then take their time. */
const doneWords: Readonly<Record<BulkKind, readonly [noun: string, participle: string]>> = {
  start: ['start', 'accepted'],
  stop: ['world', 'stopped'],
  restart: ['restart', 'accepted'],
  delete: ['world', 'deleted'],
}

/** Says how many worlds are done, such as `140 starts accepted` or `1 world stopped`. `of` is how many there are, if not all are done. */
export const describeDone = (kind: BulkKind, count: number, of?: number): string => {
  const [noun, participle] = doneWords[kind]
  const all = of === undefined ? '' : `${formatCount(count)} of `
  return `${all}${formatCount(of ?? count, noun)} ${participle}`
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
  ] as const
  const done = idsWith(progress, 'done')
  return [
    ...failures,
    ...others.flatMap(([outcome, text]) => {
      const ids = idsWith(progress, outcome)
      return ids.length === 0 ? [] : [{ title: `${formatCount(ids.length)} ${text}`, ids }]
    }),
    ...(done.length === 0 ? [] : [{ title: describeDone(progress.kind, done.length), ids: done }]),
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
