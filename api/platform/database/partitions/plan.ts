/** A table that is partitioned by time. Its default partition is named `<name>_default`. */
export type PartitionedTable = {
  readonly name: string
  /** The column of the partition key. */
  readonly column: string
  /** The time range of one partition. */
  readonly partitionMs: number
  /** The shortest time for which rows are kept. A partition is dropped as a whole, so rows may stay for one more range. */
  readonly retentionMs: number
  /** Reports whether a crash of the database may lose the rows. */
  readonly isUnlogged: boolean
}

/** The number of partitions created in advance. Many readers scan every partition, so there are few. */
const partitionsAhead = 2

/** Returns the name of the partition whose range begins at a time. The name has that time, so it decides the range. */
const nameOf = (table: PartitionedTable, fromMs: number): string =>
  `${table.name}_t${new Date(fromMs).toISOString().slice(0, 16).replace(/\D/g, '')}`

/** Returns the start of a partition from its name, or undefined for a table that is not a time partition. */
const startOf = (name: string): number | undefined => {
  const [, year, month, day, hour, minute] = /_t(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(name) ?? []
  const startMs = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:00.000Z`)
  return Number.isNaN(startMs) ? undefined : startMs
}

/** Plans the partitions to create, for now and the next two ranges, and the expired partitions to drop, by their names. */
export const planPartitions = (
  table: PartitionedTable,
  present: readonly string[],
  nowMs: number,
): { make: readonly string[]; drop: readonly string[] } => {
  const { partitionMs, retentionMs } = table
  const first = Math.floor(nowMs / partitionMs) * partitionMs
  const wanted = Array.from({ length: partitionsAhead + 1 }, (_, at) => nameOf(table, first + at * partitionMs))
  return {
    make: wanted.filter((name) => !present.includes(name)),
    drop: present.filter((name) => {
      const fromMs = startOf(name)
      return fromMs !== undefined && fromMs + partitionMs + retentionMs <= nowMs
    }),
  }
}
