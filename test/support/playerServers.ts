import { createServer, type Server } from 'node:http'
import { healthPort } from '#shared/domain/ports.ts'

/** The counts in the answers of a server. A silent server does not answer. */
export type Counts = { readonly active: number; readonly queued: number } | 'silent'

/** The counts of a server without players. */
export const nobody = { active: 0, queued: 0 } as const satisfies Counts
const perOctet = 254
/** The number of changes of a server that are remembered. */
const maxChanges = 1_000
/** The number of addresses that this process has used. */
let addresses = 0

/**
 * Creates the HTTP servers of simulated pods, which the operator asks for their players. Each key has a loopback address of its own,
 * in a range of this process. A server says that nobody is in, until `report` changes that.
 */
export const createPlayerServers = () => {
  const listening = new Map<string, Promise<{ address: string; server: Server }>>()
  /** The changes of each server, the newest first. */
  const changes = new Map<string, { atMs: number; counts: Counts }[]>()
  const changesOf = (key: string) => changes.get(key) ?? [{ atMs: 0, counts: nobody }]
  const countsOf = (key: string): Counts => changesOf(key)[0]?.counts ?? nobody
  const listen = async (key: string): Promise<{ address: string; server: Server }> => {
    const at = addresses
    addresses += 1
    const address = `127.${1 + (process.pid % perOctet)}.${1 + Math.floor(at / perOctet)}.${1 + (at % perOctet)}`
    const server = createServer((_, response) => {
      const now = countsOf(key)
      if (now === 'silent') response.destroy()
      else response.setHeader('connection', 'close').end(JSON.stringify(now))
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(healthPort, address, resolve)
    })
    return { address, server }
  }
  return {
    /** Returns the address of the server with that key, once it answers there. */
    addressOf: async (key: string): Promise<string> => {
      const found = listening.get(key) ?? listen(key)
      listening.set(key, found)
      return (await found).address
    },
    /** Sets the counts of all later answers. */
    report: (key: string, counts: Counts): void =>
      void changes.set(key, [{ atMs: Date.now(), counts }, ...changesOf(key)].slice(0, maxChanges)),
    countsOf,
    /** Reports whether the server has said between two times that nobody is in. */
    wasEmpty: (key: string, fromMs: number, toMs: number): boolean =>
      changesOf(key).some(({ atMs, counts }, at, all) => {
        const untilMs = all[at - 1]?.atMs ?? Number.POSITIVE_INFINITY
        return isNobody(counts) && atMs <= toMs && untilMs >= fromMs
      }),
    close: async (): Promise<void> => {
      for (const each of listening.values()) (await each).server.close()
    },
  }
}

const isNobody = (counts: Counts): boolean => counts !== 'silent' && counts.active === 0 && counts.queued === 0

/** The HTTP servers of simulated pods. */
export type PlayerServers = ReturnType<typeof createPlayerServers>
