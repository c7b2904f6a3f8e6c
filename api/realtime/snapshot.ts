/**
 * How many changes one poll takes. Where there are more, reading what is followed costs less than reading what happened,
 * and the memory that a poll takes is bounded.
 */
export const maxChangesAtOnce = 4_000

/** Which transactions a snapshot of Postgres did not see: all from `xmax` on, and those that were under way. */
export type Unseen = { readonly xmax: string; readonly inProgress: readonly string[] }

/**
 * Reads a `pg_snapshot` (`xmin:xmax:xip,…`; PostgreSQL manual, 9.27). What a later snapshot sees of these transactions
 * is exactly what was committed between the two, whatever order their ids were given in.
 */
export const readSnapshot = (text: string): Unseen => {
  const [, xmax, list = ''] = /^\d+:(\d+):((?:\d+,)*\d*)$/.exec(text) ?? []
  if (xmax === undefined) throw new Error('Postgres told a snapshot that cannot be read')
  return { xmax, inProgress: list === '' ? [] : list.split(',') }
}

/** A poll soon after a change finds the next; when nothing happens, Postgres is asked twenty times a second. */
const activeMs = 5
const idleMs = 50
const staysActiveMs = 1_000

/** How long to wait before the next poll. */
export const nextPollMs = ({ sinceChangeMs }: { sinceChangeMs: number }): number =>
  sinceChangeMs < staysActiveMs ? activeMs : idleMs

/** A reader that was stopped for longer begins anew: it may be asked for what is no longer kept. */
const maxGapMs = 60_000

/** Why what a poll found is not to be told, and everything that is followed is to be read instead; undefined: tell it. */
export const whyAnew = ({ changes, gapMs }: { changes: number; gapMs: number }): string | undefined => {
  if (changes > maxChangesAtOnce) return `more than ${maxChangesAtOnce} changes came at once`
  if (gapMs > maxGapMs) return `nothing was read for ${Math.round(gapMs / 1000)} s`
  return undefined
}
