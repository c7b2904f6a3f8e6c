import { type ReadonlySignal, signal } from '@preact/signals'

/** Requests of buttons, of which one runs at a time. */
export type Requests = {
  /** The name of the request that runs. Empty if none does. */
  readonly pending: ReadonlySignal<string>
  /** The last request, once it has ended: its error if it failed. */
  readonly outcome: ReadonlySignal<{ readonly name: string; readonly error?: unknown } | undefined>
  /** Sends a request, unless one runs. */
  run(name: string, send: () => Promise<unknown>): void
}

/** Creates the requests of a part of the page. `onEnd` is called after each. */
export const createRequests = (onEnd: () => void): Requests => {
  const pending = signal('')
  const outcome = signal<{ name: string; error?: unknown } | undefined>(undefined)
  const run = async (name: string, send: () => Promise<unknown>): Promise<void> => {
    pending.value = name
    outcome.value = undefined
    try {
      await send()
      outcome.value = { name }
    } catch (error) {
      outcome.value = { name, error }
    }
    pending.value = ''
    onEnd()
  }
  return {
    pending,
    outcome,
    run: (name, send) => {
      if (pending.peek() === '') void run(name, send)
    },
  }
}
