/** The limits of a budget, in bytes. */
export type BudgetLimits = {
  readonly total: number
  readonly perGroup: number
  /** The first bytes of each lease, which are not counted. Small requests are therefore never refused. */
  readonly free: number
}

/** The part of a budget that is used up: the share of the group, or the total. */
export type Shortage = 'group' | 'total'

/** The bytes that one request holds. */
export type Lease = {
  /** The group whose share limits the lease. */
  readonly group: string | undefined
  /**
   * Raises the bytes that the lease holds to `bytes`. Does nothing if it holds as many already. If they do not fit in the
   * budget, the lease stays as it is, and the result says which limit is short.
   */
  readonly hold: (bytes: number) => Shortage | undefined
  /** Returns the most bytes that `hold` would accept now. */
  readonly available: () => number
  /** Gives back the bytes above `bytes`. */
  readonly keep: (bytes: number) => void
  /** Gives all bytes back. */
  readonly end: () => void
}

/** A number of bytes that concurrent requests share. */
export type Budget = {
  /** Opens a lease, which holds nothing yet. Without a group only the total limits it. */
  readonly open: (group: string | undefined) => Lease
  /** Returns the bytes that are held. */
  readonly heldBytes: () => number
}

/** Returns a budget. Its groups cannot use each other's shares, as long as the total lasts. */
export const createBudget = ({ total, perGroup, free }: BudgetLimits): Budget => {
  const groups = new Map<string, number>()
  let used = 0
  const add = (group: string | undefined, bytes: number): void => {
    used += bytes
    if (group === undefined) return
    const ofGroup = (groups.get(group) ?? 0) + bytes
    if (ofGroup === 0) groups.delete(group)
    else groups.set(group, ofGroup)
  }
  return {
    open: (group) => {
      let held = 0
      const giveBack = (bytes: number): void => {
        add(group, -bytes)
        held -= bytes
      }
      return {
        group,
        hold: (bytes) => {
          const more = bytes - free - held
          if (more <= 0) return undefined
          if (group !== undefined && (groups.get(group) ?? 0) + more > perGroup) return 'group'
          if (used + more > total) return 'total'
          add(group, more)
          held += more
          return undefined
        },
        available: () => {
          const ofGroup = group === undefined ? Number.POSITIVE_INFINITY : perGroup - (groups.get(group) ?? 0)
          return free + held + Math.min(ofGroup, total - used)
        },
        keep: (bytes) => giveBack(Math.max(0, held - Math.max(0, bytes - free))),
        end: () => giveBack(held),
      }
    },
    heldBytes: () => used,
  }
}
