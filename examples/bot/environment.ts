/** The environment of a bot. docs/container-contract.md describes it. */
export type BotEnvironment = {
  readonly worldHost: string
  readonly worldPort: number
  readonly index: number
  readonly count: number
  readonly healthPort: number
  /** The interval between the bot's messages. */
  readonly talkMs: number
  /** The time without a connection to the world after which the bot exits, so that it is replaced. */
  readonly giveUpMs: number
}

/** Reads the environment; throws an Error that lists every fault, and never a value. */
export const readEnvironment = (env: NodeJS.ProcessEnv): BotEnvironment => {
  const faults: string[] = []
  const whole = (name: string, fallback: number, most: number): number => {
    const value = env[name] === undefined || env[name] === '' ? fallback : Number(env[name])
    if (!Number.isInteger(value) || value < 0 || value > most)
      faults.push(`${name} must be a whole number, 0 to ${most}`)
    return value
  }
  const [, host = '', port = ''] = /^(.+):(\d{1,5})$/.exec(env.ORRERY_WORLD_ADDRESS ?? '') ?? []
  if (host === '') faults.push('ORRERY_WORLD_ADDRESS must be host:port')
  const read = {
    // An IPv6 address stands in brackets before its port.
    worldHost: host.replace(/^\[(.*)\]$/, '$1'),
    worldPort: Number(port),
    index: whole('ORRERY_BOT_INDEX', 0, 100_000),
    count: whole('ORRERY_BOT_COUNT', 1, 100_000),
    healthPort: whole('ORRERY_HEALTH_PORT', 8080, 65_535),
    talkMs: whole('ORRERY_BOT_TALK_MS', 10_000, 3_600_000),
    giveUpMs: whole('ORRERY_BOT_GIVE_UP_MS', 60_000, 3_600_000),
  }
  if (faults.length > 0) throw new Error(`The bot cannot start: ${faults.join('; ')}`)
  return read
}
