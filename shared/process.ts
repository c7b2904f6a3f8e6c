/** Resolves with the first SIGTERM or SIGINT. A second one ends the process at once. */
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
 * Runs `main` and exits: with 0 when it resolves, with 1 when it rejects. Prints the message of the error without a stack,
 * since the message of a configuration error lists every fault.
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
