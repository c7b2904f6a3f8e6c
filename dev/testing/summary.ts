import type { Results } from './vitest.ts'

const slowestCount = 10
/** Enough for a message with a difference, and for the first lines of the stack. */
const maxErrorLines = 30

/**
 * The lines that end a test command: the slowest, skipped and failed tests with the first lines of their errors, the notes, and the
 * counts in the last line. The output of a long command may be cut, so its end must say what failed and why.
 */
export const summarize = (results: Results, notes: readonly string[] = []): string[] => {
  const withStatus = (status: string) => results.filter((result) => result.status === status)
  const [passed, failed, skipped] = ['passed', 'failed', 'skipped'].map(withStatus)
  const slowest = results
    .filter(({ durationMs }) => durationMs > 0)
    .sort((a, b) => b.durationMs - a.durationMs)
    .slice(0, slowestCount)
  return [
    ...(slowest.length > 0 ? ['Slowest tests:'] : []),
    ...slowest.map(({ name, durationMs }) => `${(durationMs / 1000).toFixed(1).padStart(7)} s  ${name}`),
    ...(skipped ?? []).map(({ name }) => `skipped: ${name}`),
    ...(failed ?? []).flatMap(({ name, errors = [] }) => [
      `failed: ${name}`,
      ...errors.flatMap((error) => error.split('\n').slice(0, maxErrorLines)).map((line) => `  ${line}`),
    ]),
    ...notes,
    [
      `${passed?.length ?? 0} passed, ${failed?.length ?? 0} failed`,
      ...(skipped !== undefined && skipped.length > 0 ? [`${skipped.length} skipped`] : []),
    ].join(', '),
  ]
}
