/** A time budget. A step starts only if its longest duration still fits. */
export const createBudget = ({ totalMs, now }: { totalMs: number; now: () => number }) => {
  const startMs = now()
  const usedMs = (): number => now() - startMs
  return {
    allows: (stepMs: number): boolean => usedMs() + stepMs <= totalMs,
    usedMinutes: (): number => Math.round(usedMs() / 60_000),
  }
}
