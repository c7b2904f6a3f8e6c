import { readEnvironment } from './environment.ts'
import { startWorld } from './world.ts'

// The first statement: the kernel drops a signal to process 1 that has no handler, and a stop may come while the server starts.
const stopRequested = new Promise<undefined>((resolve) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(undefined))
})

const log = (fields: object): void =>
  void process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...fields })}\n`)

const main = async (): Promise<number> => {
  const world = await Promise.race([startWorld(readEnvironment(process.env), log), stopRequested])
  if (world !== undefined) {
    await stopRequested
    log({ level: 'info', message: 'draining' })
    await world.drain()
  }
  log({ level: 'info', message: 'ended' })
  return 0
}

// Exit code 0 ends the run. Any other code makes the operator restart the server.
try {
  process.exit(await main())
} catch (error) {
  log({ level: 'error', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}
