import { type ReadonlySignal, signal } from '@preact/signals'
import { createLogParser, createOverlap, type LogEvent } from '#console/state/logEvents.ts'
import { createLogLines, type LogLines } from '#console/state/logLines.ts'
import { countAttempts, type LogNotice, type LogOutcome, planNextRead, sinceOf } from '#console/state/logPlan.ts'
import type { Session } from './session.ts'

/** The state of a log: it is being opened, lines come, or it ended with a notice and perhaps a next attempt. */
export type LogState =
  | { readonly kind: 'opening' }
  | { readonly kind: 'open' }
  | { readonly kind: 'ended'; readonly notice: LogNotice; readonly retryAtMs: number | undefined }

/** The log of a run, which is followed until it is closed. */
export type LogReader = {
  /** The lines so far. Another list after `readAgain` of a log with a final end. */
  readonly lines: ReadonlySignal<LogLines>
  /** Counts the changes of `lines`, at most one a frame, and none while the tab is hidden. */
  readonly version: ReadonlySignal<number>
  readonly state: ReadonlySignal<LogState>
  /** Reads on at once. Lines after the end of a server are those of the next one. */
  goOn(): void
  /** Reads the log again at once. After its end the lines are replaced. */
  readAgain(): void
  close(): void
}

/** The number of lines in which the repeated part of a continued log is looked for. */
const maxKnown = 2_000

/** The time after which a log has sent its past, so that lines are new, and none is held back any more. */
const catchUpMs = 5_000

/** The line between the logs of two servers of a run. */
const nextServer = '\u001b[1m── The next server of the run ──\u001b[0m\n'

type Options = {
  readonly openStream: Session['openStream']
  readonly projectId: string
  readonly worldId: string
  /** The id of the run. Empty for the newest. */
  readonly deployment: string
}

/** Creates the lines of a log with their version. */
const createShown = () => {
  const version = signal(0)
  const lines = signal(createLogLines())
  let recent: string[] = []
  let frame = 0
  const show = (): void => {
    if (frame !== 0) return
    frame = requestAnimationFrame(() => {
      frame = 0
      version.value += 1
    })
  }
  return {
    lines,
    version,
    /** The newest lines, among which a continued log begins. */
    recent: (): readonly string[] => recent,
    add: (fresh: readonly string[], { isNextServer }: { readonly isNextServer: boolean }): void => {
      const all = lines.peek()
      if (isNextServer && all.length > 0) all.appendText(nextServer)
      all.appendText(fresh.map((line) => `${line}\n`).join(''))
      recent = [...recent, ...fresh].slice(-maxKnown)
      show()
    },
    clear: (): void => {
      lines.value = createLogLines()
      recent = []
      show()
    },
    close: (): void => cancelAnimationFrame(frame),
  }
}

/**
 * Opens the log of a run. It is read on after every interruption, from before the last line that is shown. A line comes twice only if
 * the log repeats itself, or was cut while it sent its past.
 */
export const openLog = ({ openStream, projectId, worldId, deployment }: Options): LogReader => {
  const state = signal<LogState>({ kind: 'opening' })
  const shown = createShown()
  /** All that was written before is shown. The next read starts there. */
  let lastAtMs: number | undefined
  /** True if the last line that is shown was written at `lastAtMs` or later, so that the next read repeats it. */
  let isRepeated = false
  let attempts = 0
  let requestedAtMs = 0
  let hasServerEnded = false
  let timer: ReturnType<typeof setTimeout> | undefined
  let present = new AbortController()

  const pathOf = (): string => {
    const query = new URLSearchParams({ follow: 'true' })
    if (deployment !== '') query.set('deployment', deployment)
    if (lastAtMs !== undefined) query.set('since', sinceOf({ lastAtMs, nowMs: Date.now() }))
    return `/api/worlds/${encodeURIComponent(worldId)}/logs/?${query}`
  }
  const read = async ({ signal }: AbortController): Promise<void> => {
    state.value = { kind: 'opening' }
    requestedAtMs = Date.now()
    const outcome = await readOnce(signal)
    if (signal.aborted) return
    attempts = countAttempts(attempts, { openMs: state.peek().kind === 'open' ? Date.now() - requestedAtMs : 0 })
    const notice = planNextRead(outcome, { attempts, random: Math.random() })
    attempts += 1
    hasServerEnded ||= notice.kind === 'ended'
    const { retryInMs } = notice
    state.value = { kind: 'ended', notice, retryAtMs: retryInMs === undefined ? undefined : Date.now() + retryInMs }
    if (retryInMs !== undefined) timer = setTimeout(() => void read(present), retryInMs)
  }
  /** Shows lines that were written at a time or later. Undefined if nothing is known about that. */
  const show = (fresh: readonly string[], sinceMs: number | undefined): void => {
    if (fresh.length === 0) return
    shown.add(fresh, { isNextServer: hasServerEnded })
    hasServerEnded = false
    attempts = 0
    lastAtMs = sinceMs ?? requestedAtMs
    isRepeated = sinceMs !== undefined
  }
  const readOnce = async (signal: AbortSignal): Promise<LogOutcome> => {
    try {
      const response = await openStream(pathOf(), { projectId, accept: 'text/event-stream', signal })
      if (!response.ok) return await refusalOf(response)
      state.value = { kind: 'open' }
      return await readEvents(response, signal)
    } catch {
      return { kind: 'lost' }
    }
  }
  const readEvents = async ({ body }: Response, signal: AbortSignal): Promise<LogOutcome> => {
    const parse = createLogParser()
    const overlap = createOverlap(isRepeated ? shown.recent() : [])
    let sinceMs = lastAtMs
    let isCaughtUp = false
    const endOverlap = (): void => {
      if (!signal.aborted) show(overlap.end(), sinceMs)
    }
    const timer = setTimeout(() => {
      isCaughtUp = true
      endOverlap()
    }, catchUpMs)
    try {
      for await (const piece of textOf(body)) {
        const events = parse(piece)
        const fresh = events.flatMap((event) => (isLine(event) ? overlap.add(event.text) : []))
        show(fresh, sinceMs)
        const end = events.find((event) => event.kind === 'end')
        if (end !== undefined) return end
        // The time before the wait: after a sleep of the computer, the lines are older than their arrival.
        if (isCaughtUp) sinceMs = Date.now()
      }
      return { kind: 'lost' }
    } finally {
      clearTimeout(timer)
      endOverlap()
    }
  }
  const goOn = (): void => {
    attempts = 0
    clearTimeout(timer)
    present.abort()
    present = new AbortController()
    void read(present)
  }
  const readAgain = (): void => {
    const now = state.peek()
    if (now.kind === 'ended' && ['ended', 'final'].includes(now.notice.kind)) {
      hasServerEnded = false
      lastAtMs = undefined
      shown.clear()
    }
    goOn()
  }
  const close = (): void => {
    clearTimeout(timer)
    present.abort()
    shown.close()
  }
  goOn()
  return { lines: shown.lines, version: shown.version, state, goOn, readAgain, close }
}

const isLine = (event: LogEvent): event is Extract<LogEvent, { kind: 'line' }> => event.kind === 'line'

/** Yields the text of a body. Leaving the loop ends the response. */
async function* textOf(body: ReadableStream<Uint8Array<ArrayBuffer>> | null): AsyncGenerator<string> {
  if (body === null) return
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

const refusalOf = async (response: Response): Promise<LogOutcome> => {
  const problem = (await response.json().catch(() => undefined)) as
    | { detail?: unknown; requestId?: unknown }
    | undefined
  const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
  const requestId = problem?.requestId ?? response.headers.get('x-request-id')
  return {
    kind: 'refusal',
    status: response.status,
    detail: typeof problem?.detail === 'string' ? problem.detail : '',
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}),
  }
}
