import { randomInt } from 'node:crypto'

/** Returns the seed of a long test: that of the environment variable, or a new one. Prints it, so that the run can be repeated. */
export const drawSeed = (variable: string): number => {
  const seed = Number(process.env[variable] ?? randomInt(1_000_000))
  process.stderr.write(`[seed] ${variable}=${seed}\n`)
  return seed
}
