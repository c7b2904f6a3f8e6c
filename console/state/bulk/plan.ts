import { actions, offersIn } from '../actions.ts'
import { formatCount } from '../format.ts'
import { type Rights, refusalOf } from '../rights.ts'
import type { Row } from '../row.ts'

/** The actions on many worlds. */
export type BulkKind = 'start' | 'stop' | 'restart' | 'delete'

/** Worlds with something in common, as a text with their number, such as `80 run already` or `1 needs w`. */
export type Group = { readonly text: string; readonly ids: readonly string[] }

/** An action on a selection. */
export type Plan = {
  readonly kind: BulkKind
  /** The organization of the worlds. */
  readonly organizationId: string
  /** The worlds on which it acts. */
  readonly ids: readonly string[]
  /** The worlds on which it has no effect, or that the credential may not change, largest group first. */
  readonly skips: readonly Group[]
  /** The worlds among `ids` that are deleted while they run. */
  readonly running: readonly string[]
  /** The worlds among `ids` that the filter no longer selects. */
  readonly strays: readonly string[]
}

type Words = readonly [one: string, several: string]

/** The worlds whose state has nothing to do for the action. A deletion is possible in each state. */
const idle: Readonly<Partial<Record<BulkKind, Words>>> = {
  start: ['runs already', 'run already'],
  stop: ['does not run', 'do not run'],
  restart: ['does not run', 'do not run'],
}

/** The facts that decide about a plan in addition to the worlds. */
export type PlanFacts = {
  readonly credential: Rights
  readonly organizationId: string
  /** The present worlds. */
  readonly rows: ReadonlyMap<string, Row>
  /** Reports whether the filter of the page selects a world. */
  readonly isMatch: (row: Row) => boolean
  /** The worlds before a restart whose answer was lost. A later run shows that the world was restarted. */
  readonly before?: ReadonlyMap<string, Row> | undefined
}

/**
 * Returns what an action on worlds will do. The API authorises each world alone, as for the action on one world. If a world
 * changes afterwards, its result says so.
 */
export const planBulk = (kind: BulkKind, wanted: Iterable<string>, facts: PlanFacts): Plan => {
  const { organizationId, rows, isMatch } = facts
  const ids: string[] = []
  const groups = new Map<string, { words: Words; ids: string[] }>()
  for (const id of wanted) {
    const row = rows.get(id)
    const words = row === undefined ? gone : reasonToSkip(kind, row, facts)
    if (words === undefined) ids.push(id)
    else {
      const group = groups.get(words[0]) ?? { words, ids: [] }
      group.ids.push(id)
      groups.set(words[0], group)
    }
  }
  const skips = [...groups.values()]
    .sort((a, b) => b.ids.length - a.ids.length)
    .map((group) => ({ text: say(group.ids, group.words), ids: group.ids }))
  const chosen = (test: (row: Row) => boolean): string[] =>
    ids.filter((id) => {
      const row = rows.get(id)
      return row !== undefined && test(row)
    })
  const running = kind === 'delete' ? chosen(({ phase }) => offersKind(phase, 'stop')) : []
  return { kind, organizationId, ids, skips, running, strays: chosen((row) => !isMatch(row)) }
}

const gone: Words = ['no longer exists', 'no longer exist']

const offersKind = (phase: Row['phase'], kind: BulkKind): boolean =>
  offersIn(phase, []).some((offer) => offer.kind === kind)

const reasonToSkip = (kind: BulkKind, row: Row, facts: PlanFacts): Words | undefined => {
  const { id, projectId, phase } = row
  if (!offersKind(phase, kind)) return idle[kind]
  if (kind === 'restart' && hasNewRun(row, facts.before)) return ['has a new run since', 'have a new run since']
  const target = { organizationId: facts.organizationId, projectId, worldId: id }
  const refusal = refusalOf(facts.credential, actions[kind].operationId, target)
  return refusal === undefined ? undefined : needOf(refusal)
}

/** Reports whether the run of a world began after it was read as in `before`. Both times are of the API. */
export const hasNewRun = ({ id, startedAtMs }: Row, before: ReadonlyMap<string, Row> | undefined): boolean => {
  const earlier = before?.get(id)
  return earlier !== undefined && startedAtMs > earlier.startedAtMs
}

/** Returns what worlds need: `Needs w on the world: organizations/…` is `needs w`, or `need w` for several worlds. */
const needOf = (refusal: string): Words => {
  const need = refusal.replace(/^Needs /, '').replace(/ on the world: .*$/s, '')
  return [`needs ${need}`, `need ${need}`]
}

const say = ({ length }: readonly string[], [one, several]: Words): string =>
  `${formatCount(length)} ${length === 1 ? one : several}`

/** Returns the worlds of a plan that the user may not expect in it: those that run, of a deletion, and those that do not match. */
export const notesOf = ({ running, strays }: Plan): Group[] =>
  [
    { text: say(running, ['of them runs', 'of them run']), ids: running },
    { text: say(strays, ['no longer matches the filter', 'no longer match the filter']), ids: strays },
  ].filter(({ ids }) => ids.length > 0)

/** Reports whether two plans act on the same worlds, of which the same run if they are deleted. */
export const isSamePlan = (a: Plan, b: Plan): boolean =>
  hasSame(a.ids, b.ids) && (a.kind !== 'delete' || hasSame(a.running, b.running))

const hasSame = (a: readonly string[], b: readonly string[]): boolean => {
  const members = new Set(a)
  return a.length === b.length && b.every((id) => members.has(id))
}

/** Returns the verb of an action with its number, for a button: `Start 212 worlds`. */
export const describeAction = ({ kind, ids }: Pick<Plan, 'kind' | 'ids'>): string =>
  `${actions[kind].label} ${formatCount(ids.length, 'world')}`

/** Returns a plan that leaves worlds out as a sentence, such as `Start 212 of 300 worlds: 80 run already, 8 need w.` */
export const describePlan = ({ kind, ids, skips }: Plan): string => {
  const total = skips.reduce((sum, skip) => sum + skip.ids.length, ids.length)
  const reasons = skips.map(({ text }) => text).join(', ')
  return `${actions[kind].label} ${formatCount(ids.length)} of ${formatCount(total, 'world')}: ${reasons}.`
}
