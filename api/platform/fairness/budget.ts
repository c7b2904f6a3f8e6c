import { addCount } from '#shared/counts.ts'

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

/** The bytes that stay free for the others, for each byte that a group holds. */
const reserveFactor = 4

/**
 * Returns a budget. A group holds at most its share, and at most a quarter of the bytes that stay free, so that a group which holds
 * nothing finds room however many others hold theirs.
 */
export const createBudget = ({ total, perGroup, free }: BudgetLimits): Budget => {
  const groups = new Map<string, number>()
  let used = 0
  const add = (group: string | undefined, bytes: number): void => {
    used += bytes
    if (group !== undefined) addCount(groups, group, bytes)
  }
  /** Returns the bytes that leases of a group can hold in addition. */
  const roomOf = (group: string | undefined): number => {
    if (group === undefined) return total - used
    const held = groups.get(group) ?? 0
    const shared = Math.floor((total - used - reserveFactor * held) / (reserveFactor + 1))
    return Math.max(0, Math.min(perGroup - held, shared))
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
          if (more > roomOf(group))
            return group !== undefined && (groups.has(group) || more > perGroup) ? 'group' : 'total'
          add(group, more)
          held += more
          return undefined
        },
        available: () => free + held + roomOf(group),
        keep: (bytes) => giveBack(Math.max(0, held - Math.max(0, bytes - free))),
        end: () => giveBack(held),
      }
    },
    heldBytes: () => used,
  }
}
