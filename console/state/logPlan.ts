/** The way in which an attempt to read a log ended. `lost`: the connection ended without a reason. */
export type LogOutcome =
  | { readonly kind: 'end'; readonly reason: string }
  | {
      readonly kind: 'refusal'
      readonly status: number
      readonly detail: string
      readonly requestId?: string
      readonly retryAfterSeconds?: number
    }
  | { readonly kind: 'lost' }

/** The text about the end of a log. With `retryInMs` the log is read again after that time. */
export type LogNotice = {
  /**
   * `ended`: the server ended, and the run may get another one. `final`: there is nothing more to read. `waiting`: the log does not
   * exist yet. `broken`: it could not be read.
   */
  readonly kind: 'ended' | 'final' | 'waiting' | 'broken'
  readonly text: string
  /** The words of the API, beside the text. */
  readonly detail?: string
  readonly requestId?: string
  readonly retryInMs?: number
}

const maxAttempts = 20
const firstDelayMs = 1_000
const maxDelayMs = 30_000

/**
 * Returns what to say after an attempt and when to try again. `attempts` counts the failed attempts in a row;
 * `random` is from 0 to 1, so that the readers of a replica do not all return at once.
 */
export const planNextRead = (
  outcome: LogOutcome,
  { attempts, random }: { readonly attempts: number; readonly random: number },
): LogNotice => {
  const backoffMs = Math.round(Math.min(maxDelayMs, firstDelayMs * 2 ** attempts) * (0.5 + random / 2))
  const notice = noticeOf(outcome, backoffMs)
  if (notice.retryInMs === undefined || attempts < maxAttempts) return notice
  const { retryInMs: _, ...last } = notice
  return { ...last, text: `${last.text} It was tried ${maxAttempts} times; use Read again.` }
}

/** Returns the failed attempts in a row, without one whose log was open for a time in milliseconds: a log may be quiet for hours. */
export const countAttempts = (attempts: number, { openMs }: { readonly openMs: number }): number =>
  openMs < maxDelayMs ? attempts : 0

const noticeOf = (outcome: LogOutcome, backoffMs: number): LogNotice => {
  if (outcome.kind === 'lost') return { ...ends.Interrupted, retryInMs: backoffMs }
  if (outcome.kind === 'refusal') return refusalNotice(outcome, backoffMs)
  const notice = Object.hasOwn(ends, outcome.reason) ? ends[outcome.reason as keyof typeof ends] : ends.End
  if (outcome.reason === 'Duration') return { ...notice, retryInMs: 0 }
  return notice.kind === 'broken' ? { ...notice, retryInMs: backoffMs } : notice
}

/** The reasons for which a log ends, as in docs/logs.md. */
const ends = {
  End: { kind: 'ended', text: 'The log has no more lines: the server has ended.' },
  Duration: { kind: 'broken', text: 'A log is sent for 15 minutes at most. It is read again at once.' },
  Shutdown: { kind: 'broken', text: 'The replica of the API that sent the log stops. The log is read again.' },
  // The next attempt has the next token of the sign-in. If there is none, its answer says what is missing.
  Revoked: {
    kind: 'broken',
    text: 'The sign-in with which the log was read is no longer valid. The log is read again.',
  },
  Deleted: { kind: 'final', text: 'The world was deleted.' },
  Interrupted: { kind: 'broken', text: 'The connection to the server was lost. The log is read again.' },
} as const satisfies Record<string, LogNotice>

/** The meaning of each status for a log. The kind says whether the answer may differ soon. */
const refusals: Readonly<Record<number, LogNotice>> = {
  401: { kind: 'final', text: 'The key is no longer valid. Sign in again.' },
  403: {
    kind: 'final',
    text: 'You may see this world but not its log. A log can contain secrets, so it needs the verb w on the world.',
  },
  404: { kind: 'final', text: 'There is no log of this run.' },
  409: { kind: 'waiting', text: 'The server has not started, so it has no log yet.' },
  429: { kind: 'broken', text: 'Too many logs are read at the same time. Close another one, or wait.' },
  501: { kind: 'final', text: 'Logs are turned off in this installation.' },
  503: { kind: 'broken', text: 'The operator, or the node of the server, does not answer.' },
}

const refusalNotice = (
  { status, detail, requestId, retryAfterSeconds }: Extract<LogOutcome, { kind: 'refusal' }>,
  backoffMs: number,
): LogNotice => {
  const known = refusals[status] ?? { kind: 'broken', text: `The API answered with status ${status}.` }
  const notice = { ...known, detail, ...(requestId === undefined ? {} : { requestId }) }
  // A conflict without Retry-After lasts until a user starts the world.
  const isTemporary = status === 409 ? retryAfterSeconds !== undefined : status === 429 || status >= 500
  if (known.kind === 'final' || !isTemporary) return notice
  return { ...notice, retryInMs: Math.max(backoffMs, (retryAfterSeconds ?? 0) * 1_000) }
}

/** Reports whether a new version of the world may have a log where there was none, or another server in the same run. */
export const mayGoOn = (
  { kind }: LogNotice,
  { isNewestRun, isRunning }: { readonly isNewestRun: boolean; readonly isRunning: boolean },
): boolean => kind === 'waiting' || (kind === 'ended' && isNewestRun && isRunning)

/** The time between the clocks, and the precision of times in a log, that a continued log repeats. */
const marginMs = 2_000

/** Returns the query `since` of a log that continues one whose last line was written at a time or later. It repeats that line. */
export const sinceOf = ({ lastAtMs, nowMs }: { readonly lastAtMs: number; readonly nowMs: number }): string =>
  String(Math.max(1, Math.ceil((nowMs - lastAtMs + marginMs) / 1_000)))
