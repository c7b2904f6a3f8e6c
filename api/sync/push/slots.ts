import type { Turn, Turned } from '#api/platform/outbox/outbox.ts'

/** The slots of pushes, which organizations share. */
export type PushSlots = {
  /** Returns the next claim, or undefined if no slot is free. */
  next(): Omit<Turn, 'cluster' | 'leaseMs'> | undefined
  /** Takes a slot for each mark of a claim. Reports whether more marks may be due, for which slots may be free. */
  begin(turn: Pick<Turn, 'after' | 'maxOfOne'>, turned: Turned): boolean
  /** Frees the slot of a mark. Reports whether marks of organizations with slots may have waited for it. */
  end(organizationId: string): boolean
}

/**
 * Creates the slots of pushes, in which organizations take turns: a claim takes at most `maxOfOne` marks of one, and the next claim
 * goes on behind the last. The last `reserve` slots are for organizations without a slot, so that slow pushes of one do not take all.
 */
export const createPushSlots = (options: {
  readonly slots: number
  readonly reserve: number
  readonly maxOfOne: number
}): PushSlots => {
  const { reserve, maxOfOne } = options
  const taken = new Map<string, number>()
  let free = options.slots
  let after: string | undefined
  return {
    next: () => {
      if (free === 0) return undefined
      return free > reserve
        ? { limit: free - reserve, maxOfOne, except: [], after }
        : { limit: free, maxOfOne: 1, except: [...taken.keys()], after }
    },
    begin: (turn, { claimed, last }) => {
      for (const { organizationId } of claimed) taken.set(organizationId, (taken.get(organizationId) ?? 0) + 1)
      free -= claimed.length
      after = last
      const ofEach = Map.groupBy(claimed, ({ organizationId }) => organizationId).values()
      return last !== undefined || turn.after !== undefined || ofEach.some(({ length }) => length >= turn.maxOfOne)
    },
    end: (organizationId) => {
      const count = taken.get(organizationId) ?? 0
      if (count > 1) taken.set(organizationId, count - 1)
      else taken.delete(organizationId)
      free += 1
      return free <= reserve + 1
    },
  }
}
