import { isNotFound } from '#shared/kube/errors.ts'
import { eventually } from '#test/support/wait.ts'

const waitMs = { timeoutMs: 60_000 }

/** Waits for something of a fixture, for a minute at most. */
export const until = <T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> =>
  eventually(what, look, waitMs)

/** Returns the result of a read, or undefined if the object does not exist. */
export const orAbsent = async <T>(call: Promise<T>): Promise<T | undefined> => {
  try {
    return await call
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}
