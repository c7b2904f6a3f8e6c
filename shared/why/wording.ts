/** Returns a sentence as it continues after a colon. Abbreviations such as HTTPRoute stay. */
export const lowerFirst = (sentence: string): string =>
  /^[A-Z]{2}/.test(sentence) ? sentence : `${sentence.slice(0, 1).toLowerCase()}${sentence.slice(1)}`

/** The messages about a failure of a server. Each names what follows from it, and then the failure. `splitFailure` reads them. */
export const failureMessages = {
  /** The server was lost through no failure of its own. */
  replaced: (failure: string): string => `Replacing the server: ${lowerFirst(failure)}`,
  restarted: (failure: string, restart: number, budget: number): string =>
    `Restart ${restart} of ${budget}: ${lowerFirst(failure)}`,
  usedUp: (failure: string, failures: number): string =>
    `Failed ${formatTimes(failures)}; last error: ${lowerFirst(failure)}`,
  late: (failure: string): string => `The server was not ready in time: ${lowerFirst(failure)}`,
}

/** The beginning of the message of a pod that has a node and is not ready yet. `role` is `server` or `bot`. */
export const waitingFor = (role: string): string => `Waiting for the ${role} to`

/** Returns how often something happened, in words. */
export const formatTimes = (times: number): string => (times === 1 ? 'once' : `${times} times`)

const failureForm =
  /^(Replacing the server|The server was not ready in time|Restart \d+ of \d+|Failed (?:once|\d+ times); last error): /

/** Returns the failure that a message names, and the words before it, which are empty for a message about something else. */
export const splitFailure = (message: string): { consequence: string; failure: string } => {
  const [whole = '', consequence = ''] = failureForm.exec(message) ?? []
  return { consequence, failure: message.slice(whole.length) }
}

/** The verbs with which sentences of advice begin. */
const advice = /^(Ask|Change|Check|Choose|Correct|Create|Delete|Fix|Lower|Raise|Stop|Use|Wait)\b/

/** Splits a message into what is wrong and what to do about it. Either may be empty. */
export const splitAdvice = (message: string): { facts: string; advice: string } => {
  const sentences = message.split(/(?<=\.) (?=[A-Z])/)
  const first = sentences.findIndex((sentence) => advice.test(sentence))
  const at = first < 0 ? sentences.length : first
  return { facts: sentences.slice(0, at).join(' '), advice: sentences.slice(at).join(' ') }
}

const units = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** Returns a duration in words, in its largest whole unit: `6 minutes`. Shorter than a second is `1 second`. */
export const formatDuration = (ms: number): string => {
  const [unit, unitMs] = units.find(([, each]) => ms >= each) ?? (['second', 1_000] as const)
  const count = Math.max(1, Math.floor(ms / unitMs))
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}
