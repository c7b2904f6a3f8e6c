import { startBot } from './bot.ts'
import { readEnvironment } from './environment.ts'

// The first statement: the kernel drops a signal to process 1 that has no handler, and a stop may come while the bot starts.
const stopRequested = new Promise<undefined>((resolve) => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(undefined))
})

const log = (fields: object): void =>
  void process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...fields })}\n`)

const main = async (): Promise<number> => {
  const bot = await Promise.race([startBot(readEnvironment(process.env), log), stopRequested])
  if (bot !== undefined) {
    const why = await Promise.race([stopRequested, bot.gaveUp])
    await bot.leave()
    if (why !== undefined) throw new Error(why)
  }
  log({ level: 'info', message: 'ended' })
  return 0
}

// Exit code 0 completes this bot. Any other code makes the operator restart it.
try {
  process.exit(await main())
} catch (error) {
  log({ level: 'error', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}
