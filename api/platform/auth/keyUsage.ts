/** The maximum number of keys between two writes. Further keys are recorded at their next use. */
const maxNoted = 10_000

/** The ids of the keys that were used since the last write. */
export type KeyUsage = ReturnType<typeof createKeyUsage>

/** Creates an empty record of key usage. It is kept in memory, so that no request waits for a write. */
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
