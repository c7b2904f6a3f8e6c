import { untilSignal } from '#shared/process.ts'

const stopped = untilSignal().then((signal) => {
  throw new Error(`ended by ${signal}`)
})
// A signal before the first measurement ends the run at that measurement.
stopped.catch(() => undefined)

/** Resolves with the action, or rejects when this process is asked to end, so that the caller stops what it has started. */
export const unlessStopped = <T>(action: Promise<T>): Promise<T> => Promise.race([action, stopped])
