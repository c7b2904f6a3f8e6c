/** Resolves with the name of the first SIGTERM or SIGINT; a second one ends the process at once. */
export const untilSignal = (): Promise<NodeJS.Signals> =>
  new Promise((resolve) => {
    const signals = ['SIGTERM', 'SIGINT'] as const
    for (const signal of signals) {
      process.once(signal, () => {
        resolve(signal)
        for (const again of signals) process.on(again, () => process.exit(1))
      })
    }
  })

/**
 * Runs a process from its start to its end. One that cannot start says why in its error's own sentence, without a stack
 * (every fault of a configuration is in that sentence), and exits with 1.
 */
export const startOrExit = async (main: () => Promise<void>): Promise<never> => {
  try {
    await main()
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exit(1)
  }
  process.exit(0)
}
