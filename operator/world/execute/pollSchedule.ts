import type { Clock, Timer } from '#shared/clock.ts'

/** Polls that are due in the same slot share a timer, since one for each of 20,000 servers takes megabytes. */
const slotMs = 250

/** Calls `run` for each item when it is due, up to `slotMs` later. An item is in the schedule at most once. */
export const createSchedule = <T extends { slot: number }>(clock: Clock, run: (item: T) => void) => {
  type Slot = { readonly timer: Timer; readonly due: Set<T> }
  const slots = new Map<number, Slot>()
  const open = (at: number): Slot => {
    const due = new Set<T>()
    const timer = clock.setTimeout(
      () => {
        slots.delete(at)
        for (const item of due) run(item)
      },
      at * slotMs - clock.monotonic(),
    )
    slots.set(at, { timer, due })
    return { timer, due }
  }
  return {
    add: (item: T, delayMs: number): void => {
      item.slot = Math.ceil((clock.monotonic() + delayMs) / slotMs)
      const { due } = slots.get(item.slot) ?? open(item.slot)
      due.add(item)
    },
    remove: (item: T): void => {
      const slot = slots.get(item.slot)
      slot?.due.delete(item)
      if (slot?.due.size !== 0) return
      slot.timer.cancel()
      slots.delete(item.slot)
    },
  }
}
