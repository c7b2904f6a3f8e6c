/** At most this many keys are remembered between two writes; later ones are noted at their next use. */
const maxNoted = 10_000

/** Collects the use of keys between two writes. */
export type KeyUsage = ReturnType<typeof createKeyUsage>

/** Notes which keys are used, so that no request waits for a write. */
export const createKeyUsage = () => {
  let noted = new Set<string>()
  return {
    note: (apiKeyId: string): void => {
      if (noted.size < maxNoted) noted.add(apiKeyId)
    },
    /** Returns the keys that were used since the last call. */
    take: (): string[] => {
      const ids = [...noted]
      noted = new Set()
      return ids
    },
  }
}
