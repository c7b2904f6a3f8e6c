import type { Database, Transaction } from '#api/platform/database/client.ts'

/** Returns a database handle whose transactions begin with a check, until one of them has been committed. */
export const withFirstCheck = (db: Database, check: (tx: Transaction) => Promise<void>): Database => {
  let isChecked = false
  const transaction: Database['transaction'] = async (work, mode) => {
    const result = await db.transaction(async (tx) => {
      if (!isChecked) await check(tx)
      return work(tx)
    }, mode)
    isChecked = true
    return result
  }
  return Object.create(db, { transaction: { value: transaction } }) as Database
}
