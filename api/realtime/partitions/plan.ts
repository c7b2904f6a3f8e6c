/** The time that one partition of the change table holds. */
export const partitionMs = 15 * 60_000
/** How long changes are kept, at least. A reader that was away for a minute begins anew, so none looks further back. */
export const retentionMs = 15 * 60_000
/** How many partitions are made ahead. Every look at the changes is a look at each partition, so there are few. */
const ahead = 2

const prefix = 'realtime_changes_t'

/** A partition to be made: it holds from the one moment up to the other, which is not in it. */
export type Partition = { readonly name: string; readonly fromMs: number; readonly toMs: number }

const partitionAt = (fromMs: number): Partition => ({
  name: `${prefix}${new Date(fromMs).toISOString().slice(0, 16).replace(/\D/g, '')}`,
  fromMs,
  toMs: fromMs + partitionMs,
})

/** When a partition begins, by its name; undefined is no partition by time. */
const beginningOf = (name: string): number | undefined => {
  const [, year, month, day, hour, minute] = /_t(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(name) ?? []
  const beginMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00.000Z`)
  return Number.isNaN(beginMs) ? undefined : beginMs
}

/** What is to be done so that the present and the next half an hour have partitions, and what is over has none. */
export const planPartitions = (
  present: readonly string[],
  nowMs: number,
): { make: readonly Partition[]; drop: readonly string[] } => {
  const first = Math.floor(nowMs / partitionMs) * partitionMs
  const wanted = Array.from({ length: ahead + 1 }, (_, at) => partitionAt(first + at * partitionMs))
  return {
    make: wanted.filter(({ name }) => !present.includes(name)),
    drop: present.filter((name) => {
      const fromMs = beginningOf(name)
      return fromMs !== undefined && fromMs + partitionMs + retentionMs <= nowMs
    }),
  }
}
