import { startBot } from './bot.ts'
import { readEnvironment } from './environment.ts'

const log = (fields: object): void =>
  void process.stdout.write(`${JSON.stringify({ time: new Date().toISOString(), ...fields })}\n`)

const main = async (): Promise<number> => {
  const bot = await startBot(readEnvironment(process.env), log)
  const asked = new Promise<undefined>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(undefined))
  })
  const why = await Promise.race([asked, bot.gaveUp])
  await bot.leave()
  if (why !== undefined) throw new Error(why)
  log({ level: 'info', message: 'ended' })
  return 0
}

// Exit 0 says that this bot is done; anything else asks for it to be made again.
try {
  process.exit(await main())
} catch (error) {
  log({ level: 'error', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
}
