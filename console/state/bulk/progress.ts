import type { BulkKind, Plan } from './plan.ts'

/** The reason of a failure, as the API says it. The status 0 is that of a request without a response. */
export type Problem = { readonly status: number; readonly code: string; readonly detail: string }

/**
 * The outcome of a world. `unknown`: the answer was lost, so the action may have been done. `skipped`: no request was sent, since the run
 * ended before.
 */
export type Outcome =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly problem: Problem }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'skipped' }

/** The state of an action on many worlds. */
export type Progress = {
  readonly kind: BulkKind
  readonly ids: readonly string[]
  /** The outcomes so far. A world without one waits. */
  readonly outcomes: ReadonlyMap<string, Outcome>
  /** The worlds of which an answer was lost, even if a later answer told the outcome. */
  readonly doubted: ReadonlySet<string>
}

/** The number of worlds by outcome. `waiting` have none yet. */
export type Counts = Readonly<Record<Outcome['kind'] | 'waiting', number>>

/** The worlds that failed for similar reasons. */
export type FailureGroup = {
  /** The reason of the first one. Undefined for the rest beyond the largest groups. */
  readonly problem: Problem | undefined
  /** True if the details of the others differ. */
  readonly isExample: boolean
  readonly ids: readonly string[]
}

/** The most worlds of one request. It takes a few seconds at most, so that the progress is seen. */
const pieceSize = 50
/** The most groups of failures. The others are one group. */
const maxGroups = 20
const maxDetailLength = 300

/** Returns the progress of a plan before its first request. */
export const startProgress = ({ kind, ids }: Pick<Plan, 'kind' | 'ids'>): Progress => ({
  kind,
  ids,
  outcomes: new Map(),
  doubted: new Set(),
})

/** Returns the worlds of the next request. Empty if none waits. */
export const nextPiece = ({ ids, outcomes }: Progress): readonly string[] => {
  const piece: string[] = []
  for (const id of ids) {
    if (!outcomes.has(id)) piece.push(id)
    if (piece.length === pieceSize) break
  }
  return piece
}

/** Returns the progress after all worlds of a piece had the same outcome. */
export const withOutcome = (progress: Progress, piece: readonly string[], outcome: Outcome): Progress => {
  const bounded = outcome.kind === 'failed' ? failedOf(outcome.problem) : outcome
  const outcomes = new Map(progress.outcomes)
  for (const id of piece) outcomes.set(id, bounded)
  return { ...progress, outcomes }
}

/** Returns the progress after the answer to a piece was lost. The worlds still wait. */
export const withDoubt = (progress: Progress, piece: readonly string[]): Progress => ({
  ...progress,
  doubted: new Set([...progress.doubted, ...piece]),
})

/**
 * Returns the progress after the answer to a piece, or undefined if it is no answer of the API, such as the page of a proxy. Worlds of
 * other ids are ignored, and a world that the answer does not name is unknown.
 */
export const withAnswer = (progress: Progress, piece: readonly string[], answer: unknown): Progress | undefined => {
  const results = resultsOf(answer)
  if (results === undefined) return undefined
  const outcomes = new Map(progress.outcomes)
  for (const id of piece) {
    const result = results.get(id)
    outcomes.set(id, result === undefined ? { kind: 'unknown' } : outcomeOf(result, progress, id))
  }
  return { ...progress, outcomes }
}

const resultsOf = (answer: unknown): ReadonlyMap<string, Problem> | undefined => {
  if (typeof answer !== 'object' || answer === null || !('results' in answer)) return undefined
  if (!Array.isArray(answer.results)) return undefined
  const results: readonly unknown[] = answer.results
  return new Map(results.flatMap((result) => (isResult(result) ? [[result.worldId, toProblem(result)]] : [])))
}

type Result = { readonly worldId: string; readonly status: number; readonly code?: unknown; readonly detail?: unknown }

const isResult = (value: unknown): value is Result =>
  typeof value === 'object' &&
  value !== null &&
  'worldId' in value &&
  'status' in value &&
  typeof value.worldId === 'string' &&
  typeof value.status === 'number'

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const toProblem = ({ status, code, detail }: Result): Problem => ({
  status,
  code: textOf(code),
  detail: textOf(detail),
})

const outcomeOf = (result: Problem, { kind, doubted }: Progress, id: string): Outcome => {
  if (result.status >= 200 && result.status < 300) return { kind: 'done' }
  // The request whose answer was lost has deleted it.
  if (kind === 'delete' && result.status === 404 && doubted.has(id)) return { kind: 'done' }
  return failedOf(result)
}

const failedOf = ({ status, code, detail }: Problem): Outcome => ({
  kind: 'failed',
  problem: { status, code, detail: detail.slice(0, maxDetailLength) },
})

/** Returns the progress after the end of the run: worlds that waited are skipped, or unknown if an answer about them was lost. */
export const endProgress = (progress: Progress): Progress => {
  const outcomes = new Map(progress.outcomes)
  for (const id of progress.ids) {
    if (!outcomes.has(id)) outcomes.set(id, { kind: progress.doubted.has(id) ? 'unknown' : 'skipped' })
  }
  return { ...progress, outcomes }
}

/** Returns the number of worlds by outcome. */
export const countOutcomes = ({ ids, outcomes }: Progress): Counts => {
  const counts = { waiting: ids.length - outcomes.size, done: 0, failed: 0, unknown: 0, skipped: 0 }
  for (const { kind } of outcomes.values()) counts[kind] += 1
  return counts
}

/** Returns the failures by status and code, the largest group first. Those after the first groups are one group. */
export const groupFailures = ({ outcomes }: Progress): FailureGroup[] => {
  const groups = new Map<string, { problem: Problem; isExample: boolean; ids: string[] }>()
  for (const [id, outcome] of outcomes) {
    if (outcome.kind !== 'failed') continue
    const { problem } = outcome
    const key = JSON.stringify([problem.status, problem.code])
    const group = groups.get(key) ?? { problem, isExample: false, ids: [] }
    group.ids.push(id)
    group.isExample ||= problem.detail !== group.problem.detail
    groups.set(key, group)
  }
  const sorted = [...groups.values()].sort((a, b) => b.ids.length - a.ids.length)
  const rest = sorted.slice(maxGroups).flatMap(({ ids }) => ids)
  const other = { problem: undefined, isExample: false, ids: rest }
  return [...sorted.slice(0, maxGroups), ...(rest.length === 0 ? [] : [other])]
}

/** Returns the worlds with one of the outcomes, in the order of the plan. */
export const idsWith = ({ ids, outcomes }: Progress, ...kinds: readonly Outcome['kind'][]): string[] =>
  ids.filter((id) => {
    const outcome = outcomes.get(id)
    return outcome !== undefined && kinds.includes(outcome.kind)
  })

/** Returns the progress of a repetition: these worlds wait again, and the others keep their outcome. One that is done stays done. */
export const repeatProgress = (progress: Progress, again: readonly string[]): Progress => {
  const outcomes = new Map(progress.outcomes)
  const doubted = new Set([...progress.doubted, ...idsWith(progress, 'unknown')])
  for (const id of again) if (outcomes.get(id)?.kind !== 'done') outcomes.delete(id)
  return { ...progress, outcomes, doubted }
}
