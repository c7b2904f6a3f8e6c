import { readEnvironment } from './environment.ts'
import { startWorld } from './world.ts'

const log = (fields: object): void =>
  void process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...fields })}\n`)

const main = async (): Promise<number> => {
  const world = await startWorld(readEnvironment(process.env), log)
  await new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve)
  })
  log({ level: 'info', message: 'draining' })
  await world.drain()
  log({ level: 'info', message: 'ended' })
  return 0
}

// Exit 0 ends the run; anything else asks for the server to be started again.
try {
  process.exit(await main())
} catch (error) {
  log({ level: 'error', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}
