import { computed, effect, type ReadonlySignal, signal, untracked } from '@preact/signals'
import { type BulkKind, isSamePlan, type Plan, planBulk } from '#console/state/bulk/plan.ts'
import { matches, parseFilter } from '#console/state/filter.ts'
import type { Row } from '#console/state/row.ts'
import { bulk, repeatBulk, startBulk } from '../../live/bulk.ts'
import { isLoaded, rows } from '../../live/fleet.ts'
import { place } from '../../live/location.ts'
import { session } from '../../live/session.ts'

/** A plan as it was made. */
export type Draft = {
  /** Another number for each plan. */
  readonly id: number
  readonly plan: Plan
  /** The worlds that the plan acts on or leaves out, as they were. */
  readonly rows: ReadonlyMap<string, Row>
  /** The filter and the project of the page. */
  readonly filter: string
  readonly projectId: string
  /** True if the worlds are those of the last action that it repeats. */
  readonly isRepeat: boolean
  /** True if it took the place of a plan that was no longer right. */
  readonly isChanged: boolean
}

const shown = signal<Draft | 'progress' | undefined>(undefined)
const started = signal<Draft | undefined>(undefined)

/** The dialog: a plan, the progress of the action that runs or has ended, or none. */
export const opened: ReadonlySignal<Draft | 'progress' | undefined> = shown
/** The plan of the action that was started last, with its worlds as they were before the last request about each. */
export const lastDraft: ReadonlySignal<Draft | undefined> = started
/** True while requests of an action are sent. */
export const isRunning: ReadonlySignal<boolean> = computed(
  () => bulk.value !== undefined && bulk.value.state !== 'ended',
)
/** True if the page has the worlds of the last action, so that a new plan for them can be made. */
export const canRepeat: ReadonlySignal<boolean> = computed(
  () => isLoaded.value && session.value?.organizationId === bulk.value?.plan.organizationId,
)

type Wanted = Omit<Draft, 'id' | 'plan' | 'isChanged'> & { readonly kind: BulkKind }

let made = 0
/** Plans an action on worlds as they are now. `rows` are those worlds as they were. */
const draftFor = ({ kind, ...wanted }: Wanted): Draft | undefined => {
  const current = session.peek()
  if (current === undefined) return undefined
  const { credential, organizationId } = current
  const filter = parseFilter(wanted.filter)
  const present = rows.peek()
  const plan = planBulk(kind, wanted.rows.keys(), {
    credential,
    organizationId,
    rows: present,
    isMatch: (row) => matches(filter, row),
    before: wanted.isRepeat ? started.peek()?.rows : undefined,
  })
  made += 1
  const now = new Map([...wanted.rows].map(([id, row]) => [id, present.get(id) ?? row]))
  return { ...wanted, id: made, plan, rows: now, isChanged: false }
}

/** Opens the dialog with the plan of an action. */
export const openPlan = (kind: BulkKind, selected: readonly Row[]): void => {
  const { filter, projectId } = place.value
  const chosen = new Map(selected.map((row) => [row.id, row]))
  shown.value = draftFor({ kind, rows: chosen, filter, projectId, isRepeat: false })
}

/** Opens the dialog with a plan that repeats the last action for some of its worlds. */
export const openRepeat = (ids: readonly string[]): void => {
  const last = started.peek()
  if (last === undefined || !canRepeat.peek() || isRunning.peek()) return
  const { filter, projectId, plan } = last
  const chosen = new Map(ids.flatMap((id) => entryOf(last.rows, id)))
  shown.value = draftFor({ kind: plan.kind, rows: chosen, filter, projectId, isRepeat: true })
}

const entryOf = (from: ReadonlyMap<string, Row>, id: string): [string, Row][] => {
  const row = from.get(id)
  return row === undefined ? [] : [[id, row]]
}

/** Opens the dialog with the progress. */
export const openProgress = (): void => {
  if (bulk.peek() !== undefined) shown.value = 'progress'
}

/**
 * Starts the action of a plan and shows its progress. If the worlds have changed so that the plan is another one, it shows that one
 * instead. Has no effect while another action runs.
 */
export const startDraft = (draft: Draft): void => {
  const fresh = isRunning.peek() ? undefined : draftFor({ ...draft, kind: draft.plan.kind })
  if (fresh === undefined) return
  if (!isSamePlan(draft.plan, fresh.plan)) {
    shown.value = { ...fresh, isChanged: true }
    return
  }
  const hasBegun = draft.isRepeat ? repeatBulk(fresh.plan) : startBulk(fresh.plan)
  if (!hasBegun) return
  const last = started.peek()
  // Only what is sent again has another state before its request.
  const sent = fresh.plan.ids.flatMap((id) => entryOf(fresh.rows, id))
  started.value = draft.isRepeat && last ? { ...last, rows: new Map([...last.rows, ...sent]) } : fresh
  openProgress()
}

/** Reports that the dialog was closed. */
export const closeOpened = (): void => {
  shown.value = undefined
}

// The next session may not see these worlds, or has other ones.
effect(() => {
  const current = session.value
  untracked(() => {
    closeOpened()
    if (current === undefined) started.value = undefined
  })
})

const warn = (event: Event): void => event.preventDefault()
effect(() => {
  if (!isRunning.value) return
  addEventListener('beforeunload', warn)
  return () => removeEventListener('beforeunload', warn)
})
