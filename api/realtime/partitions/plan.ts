/** The time range of one partition of the change table. */
export const partitionMs = 15 * 60_000
/** The shortest time for which changes are kept. Readers never look back further than one minute. */
export const retentionMs = 15 * 60_000
/** The number of partitions created in advance. Each poll scans every partition, so there are few. */
const partitionsAhead = 2

const prefix = 'realtime_changes_t'

/** A partition to create. It holds changes from `fromMs` (inclusive) to `toMs` (exclusive). */
export type Partition = { readonly name: string; readonly fromMs: number; readonly toMs: number }

const partitionAt = (fromMs: number): Partition => ({
  name: `${prefix}${new Date(fromMs).toISOString().slice(0, 16).replace(/\D/g, '')}`,
  fromMs,
  toMs: fromMs + partitionMs,
})

/** Returns the start of a partition from its name, or undefined for a table that is not a time partition. */
const startOf = (name: string): number | undefined => {
  const [, year, month, day, hour, minute] = /_t(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(name) ?? []
  const startMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00.000Z`)
  return Number.isNaN(startMs) ? undefined : startMs
}

/** Plans the partitions to create, for now and the next half hour, and the expired partitions to drop. */
export const planPartitions = (
  present: readonly string[],
  nowMs: number,
): { make: readonly Partition[]; drop: readonly string[] } => {
  const first = Math.floor(nowMs / partitionMs) * partitionMs
  const wanted = Array.from({ length: partitionsAhead + 1 }, (_, at) => partitionAt(first + at * partitionMs))
  return {
    make: wanted.filter(({ name }) => !present.includes(name)),
    drop: present.filter((name) => {
      const fromMs = startOf(name)
      return fromMs !== undefined && fromMs + partitionMs + retentionMs <= nowMs
    }),
  }
}
