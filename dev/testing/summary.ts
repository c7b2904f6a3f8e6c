import type { Results } from './vitest.ts'

const slowestCount = 10

/** The lines that end a test command: the slowest, skipped and failed tests, the notes, and the counts in the last line. */
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
    ...(failed ?? []).map(({ name }) => `failed: ${name}`),
    ...notes,
    [
      `${passed?.length ?? 0} passed, ${failed?.length ?? 0} failed`,
      ...(skipped !== undefined && skipped.length > 0 ? [`${skipped.length} skipped`] : []),
    ].join(', '),
  ]
}
