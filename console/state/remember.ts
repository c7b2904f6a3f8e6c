import type { Row } from './row.ts'

/** Returns a function that computes its value once for each row. Rows never change; a world that changes has a new one. */
export const remember = <Value extends string | number>(compute: (row: Row) => Value): ((row: Row) => Value) => {
  const known = new WeakMap<Row, Value>()
  return (row) => {
    const before = known.get(row)
    if (before !== undefined) return before
    const value = compute(row)
    known.set(row, value)
    return value
  }
}
