import type { Kind } from '#api/sync/rows/synced.ts'
import { botAdapter } from './bots.ts'
import type { Adapter, Types } from './kind.ts'
import { worldAdapter } from './world.ts'

/** Calls a function that works for any kind with the adapter of one. */
type WithAdapter = <Out>(use: <T extends Types>(adapter: Adapter<T>) => Out) => Out

const of =
  <T extends Types>(adapter: Adapter<T>): WithAdapter =>
  (use) =>
    use(adapter)

/** The adapter of each kind. */
export const adapters: Readonly<Record<Kind, WithAdapter>> = { world: of(worldAdapter), bot: of(botAdapter) }
