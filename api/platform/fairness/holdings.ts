import { type BudgetLimits, createBudget, type Lease } from './budget.ts'

/** The bytes of many small things that groups hold in memory. */
export type Holdings = {
  /** Holds more bytes of a group. Returns false, and holds nothing, if they do not fit. */
  hold(group: string, bytes: number): boolean
  /** Gives back bytes that a group holds. */
  giveBack(group: string, bytes: number): void
}

/** Returns holdings without bytes. */
export const createHoldings = (limits: BudgetLimits): Holdings => {
  const budget = createBudget(limits)
  const held = new Map<string, { readonly lease: Lease; bytes: number }>()
  return {
    hold: (group, bytes) => {
      const holding = held.get(group) ?? { lease: budget.open(group), bytes: 0 }
      if (holding.lease.hold(holding.bytes + bytes) !== undefined) return false
      holding.bytes += bytes
      held.set(group, holding)
      return true
    },
    giveBack: (group, bytes) => {
      const holding = held.get(group)
      if (holding === undefined) return
      holding.bytes -= bytes
      holding.lease.keep(holding.bytes)
      if (holding.bytes === 0) held.delete(group)
    },
  }
}
