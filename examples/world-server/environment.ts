/** The environment of a world server. docs/container-contract.md describes it. */
export type ServerEnvironment = {
  readonly worldId: string
  readonly runId: string
  readonly mapName: string
  readonly capacity: number
  readonly gamePort: number
  readonly healthPort: number
  /** The time that players have to leave when the server stops. */
  readonly drainMs: number
}

/** Reads the environment; throws an Error that lists every fault, and never a value. */
export const readEnvironment = (env: NodeJS.ProcessEnv): ServerEnvironment => {
  const faults: string[] = []
  const text = (name: string): string => {
    const value = env[name] ?? ''
    if (value === '') faults.push(`${name} is missing`)
    return value
  }
  const whole = (name: string, fallback: number, most: number): number => {
    const value = env[name] === undefined || env[name] === '' ? fallback : Number(env[name])
    if (!Number.isInteger(value) || value < 0 || value > most)
      faults.push(`${name} must be a whole number, 0 to ${most}`)
    return value
  }
  const read = {
    worldId: text('ORRERY_WORLD_ID'),
    runId: text('ORRERY_RUN_ID'),
    mapName: env.ORRERY_MAP_NAME ?? '',
    capacity: whole('ORRERY_CAPACITY', 30, 100_000),
    gamePort: whole('ORRERY_PORT', 7777, 65_535),
    healthPort: whole('ORRERY_HEALTH_PORT', 8080, 65_535),
    drainMs: whole('ORRERY_DRAIN_MS', 50_000, 3_600_000),
  }
  if (faults.length > 0) throw new Error(`The world server cannot start: ${faults.join('; ')}`)
  return read
}
