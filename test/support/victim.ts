import { expect } from 'vitest'
import { aTenant } from './tenant.ts'

/** Creates a tenant with one world, which reads this world while others attack. */
export const aVictim = async (url: string) => {
  const { rest, world } = await aTenant(url)
  const path = `/api/worlds/${await world()}/`
  return {
    /** Reads the world that many times, and expects each read to succeed. Returns the 99th percentile of the times, in ms. */
    read: async (count: number): Promise<number> => {
      const timesMs: number[] = []
      for (let at = 0; at < count; at += 1) {
        const startedMs = performance.now()
        expect((await rest.call('GET', path)).status).toBe(200)
        timesMs.push(performance.now() - startedMs)
      }
      return timesMs.sort((a, b) => a - b)[Math.floor(count * 0.99)] ?? 0
    },
  }
}
