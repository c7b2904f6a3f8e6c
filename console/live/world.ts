import { signal } from '@preact/signals'
import type { Client } from '#client/client.ts'
import type { BotDeployment, Event, World, WorldDeployment } from '#client/operations.ts'
import { type Items, readAll } from './readAll.ts'

/** The explanation of a world's state. */
export type Why = Awaited<ReturnType<Client['explainWorld']>>

/** The runs of a world, newest first. Those that were not read are newer. */
export type Runs = Items<WorldDeployment>

/** The number of pages of runs that are read, of 1,000 runs each. */
const maxPages = 5

/** Reads the parts of a world's page, with the client of the world's project. */
export const readsOf = (client: Client, worldId: string) => {
  const params = { worldId }
  const etag = signal('')
  const world = async (signal: AbortSignal): Promise<World> => {
    const { headers, body } = await client.request('getWorld', { params, signal })
    etag.value = headers.get('etag') ?? ''
    return body
  }
  const runs = async (signal: AbortSignal): Promise<Runs> => {
    const { items, hasMore } = await readAll(client.pages('listWorldDeployments', { params, signal }), maxPages)
    return { items: items.toReversed(), hasMore }
  }
  return {
    /** The entity tag of the world as it was read last. */
    etag,
    world,
    why: (signal: AbortSignal): Promise<Why> => client.explainWorld({ params, signal }),
    bots: (signal: AbortSignal): Promise<BotDeployment[]> => client.listBotDeployments({ params, signal }),
    runs,
    events: (signal: AbortSignal): Promise<Event[]> => client.listWorldEvents({ params, signal }),
  }
}
