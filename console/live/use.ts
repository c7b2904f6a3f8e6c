import { effect, type ReadonlySignal, signal } from '@preact/signals'
import type { Client } from '#client/client.ts'
import { delayOfReading, noReadings, type Readings, withFailure, withSample } from '#console/state/use/readings.ts'

/** Reads the CPU and memory of the server of a world. */
export type UseReader = {
  readonly readings: ReadonlySignal<Readings>
  readonly hasServer: ReadonlySignal<boolean>
  /** Begins to read every 15 s while the tab is visible and a server runs. Has no effect the second time. */
  start(): void
  close(): void
}

type World = {
  /** The client of the world's project. */
  readonly client: Client
  readonly worldId: string
  readonly hasServer: ReadonlySignal<boolean>
}

/** Creates the reader. It reads nothing before its start. At most one reading runs at a time. */
export const createUseReader = ({ client, worldId, hasServer }: World): UseReader => {
  const readings = signal(noReadings)
  const ended = new AbortController()
  let hasStarted = false
  let isReading = false
  let startedAtMs = Number.NEGATIVE_INFINITY
  let timer: ReturnType<typeof setTimeout> | undefined
  let stop = (): void => undefined

  const read = async (): Promise<void> => {
    isReading = true
    startedAtMs = Date.now()
    try {
      const metrics = await client.readWorldMetrics({ params: { worldId }, signal: ended.signal })
      readings.value = withSample(readings.peek(), metrics)
    } catch (error) {
      if (!ended.signal.aborted) readings.value = withFailure(readings.peek(), error)
    }
    isReading = false
    plan()
  }
  const plan = (): void => {
    clearTimeout(timer)
    if (ended.signal.aborted) return
    const delayMs = delayOfReading({
      outcome: readings.peek().outcome,
      isReading,
      isHidden: document.hidden,
      hasServer: hasServer.peek(),
      startedAtMs,
      nowMs: Date.now(),
    })
    if (delayMs !== undefined) timer = setTimeout(() => void read(), delayMs)
  }
  return {
    readings,
    hasServer,
    start: () => {
      if (hasStarted) return
      hasStarted = true
      document.addEventListener('visibilitychange', plan, { signal: ended.signal })
      stop = effect(() => {
        void hasServer.value
        plan()
      })
    },
    close: () => {
      stop()
      ended.abort()
      clearTimeout(timer)
    },
  }
}
