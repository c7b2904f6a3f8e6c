import type { World } from '#client/operations.ts'

type NextAction = NonNullable<World['status']['nextAction']>

/** A time of a plan, with the words before and after it. */
type PlannedTime = { readonly before: string; readonly at: string; readonly after: string }

/** Reports whether a restart is due and waits until nobody is in the world. */
export const waits = (next: NextAction | undefined, nowMs: number): boolean =>
  next?.by !== undefined && Date.parse(next.at) <= nowMs

const verbs: Readonly<Record<NextAction['what'], string>> = { start: 'Starts', stop: 'Stops', restart: 'Restarts' }
/** The states of a world in which an action has an effect. */
const conditions: Readonly<Record<NextAction['what'], string>> = {
  start: 'if it does not run then',
  stop: 'if it runs, sleeps or waits to start then',
  restart: 'if it runs then',
}
const whenEmpty = 'when nobody is in the world, at'

/** Returns what the schedule of a world does next, as times to read one after another. */
export const planOf = (next: NextAction, hasRun: boolean, nowMs: number): readonly PlannedTime[] => {
  const { what, at, by } = next
  if (by !== undefined && hasRun) {
    const latest = { at: by, after: 'at the latest' }
    return waits(next, nowMs)
      ? [{ before: `Restarts ${whenEmpty}`, ...latest }]
      : [
          { before: 'Restarts from', at, after: '' },
          { before: whenEmpty, ...latest },
        ]
  }
  // The action has no effect on the world as it is, which may change until then.
  const after = hasRun === (what === 'start') ? conditions[what] : ''
  // A newer API may have other actions.
  return [{ before: `${verbs[what] ?? what} ${by === undefined ? 'at' : 'from'}`, at, after }]
}
