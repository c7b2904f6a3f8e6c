/** The progress of builds with Go. */
export type BuildMeter = {
  /** Counts the package if a line of `go build -v` names one that was to be compiled. Returns whether it did. */
  note(line: string): boolean
  /** Returns the compiled packages of all, and the time left at the rate so far. */
  describe(nowMs: number): string
}

/** The share of the packages from which a rate is known. */
const measurable = 0.05

/** Creates a meter for builds that compile these packages from now on. */
export const createBuildMeter = (packages: ReadonlySet<string>, startedMs: number): BuildMeter => {
  const compiled = new Set<string>()
  return {
    note: (line) => {
      const isKnown = packages.has(line)
      if (isKnown) compiled.add(line)
      return isKnown
    },
    describe: (nowMs) => {
      const [done, total] = [compiled.size, packages.size]
      if (total === 0) return 'linking'
      const left = total - done
      const counts = `${done.toLocaleString('en')} of ${total.toLocaleString('en')} packages compiled`
      if (left === 0 || done < total * measurable) return counts
      return `${counts}, about ${duration(((nowMs - startedMs) / done) * left)} left`
    },
  }
}

const duration = (ms: number): string => {
  const seconds = Math.ceil(ms / 10_000) * 10
  return seconds < 100 ? `${seconds} s` : `${Math.ceil(seconds / 60)} minutes`
}
