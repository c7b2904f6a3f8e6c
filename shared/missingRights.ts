/** The time in which one line is logged for the missing rights of a namespace, or for one that is missing in the whole cluster. */
const windowMs = 60_000
/** The maximum number of namespaces and rights that are remembered. The oldest is forgotten first. */
const maxRemembered = 10_000

/** The words of RBAC for a right that a process lacks. */
const missingRight =
  /cannot (\w+ resource "[^"]+" in API group "[^"]*") (?:in the namespace "([^"]+)"|at the cluster scope)/

/** A line about missing rights: the namespace, '' for the cluster, and the number of such lines since the last one. */
export type MissingRight = { readonly namespace: string; readonly count: number }

/**
 * Creates a filter that keeps one line a minute for the missing rights of each namespace, however often a process tries. Of the rights in
 * the whole cluster, which are few, each has its own line. Returns undefined for a line about something else, and null for one that
 * is left out and counted.
 */
export const createMissingRights = (monotonic: () => number) => {
  const seen = new Map<string, { untilMs: number; count: number }>()
  return (fields: object): MissingRight | undefined | null => {
    const match = missingRight.exec(textOf(fields))
    if (match === null) return undefined
    const [, right = '', namespace = ''] = match
    // A namespace has no space in its name.
    const name = namespace || right
    const before = seen.get(name)
    const nowMs = monotonic()
    if (before !== undefined && nowMs < before.untilMs) {
      before.count += 1
      return null
    }
    seen.delete(name)
    const [oldest = ''] = seen.keys()
    if (seen.size >= maxRemembered) seen.delete(oldest)
    seen.set(name, { untilMs: nowMs + windowMs, count: 0 })
    return { namespace, count: (before?.count ?? 0) + 1 }
  }
}

/** Returns the message of the error of a line, or else its reason. */
const textOf = ({ err, why }: { readonly err?: unknown; readonly why?: unknown }): string =>
  err instanceof Error ? err.message : typeof why === 'string' ? why : ''
