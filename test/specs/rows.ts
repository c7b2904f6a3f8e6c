import { isDeepStrictEqual } from 'node:util'
import { eq, sql } from 'drizzle-orm'
import { botDeployments } from '#api/domain/bots/table.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { openDatabase } from '#api/platform/database/client.ts'
import { decideBots, decideWorld, freeFacts } from '#api/sync/merge/testing/facts.ts'
import { botAdapter } from '#api/sync/reconcile/bots.ts'
import { worldAdapter } from '#api/sync/reconcile/world.ts'
import { toDesired } from '#api/sync/rows/desired.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { type BotDeployment, readBots } from '#shared/resources/botDeployment.ts'
import { readWorld, type World } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { eventually } from '#test/support/wait.ts'
import type { connectTo, Kind, Live } from './cluster.ts'

/** The limit of a wait. A row that cannot be pushed waits for ever. */
export const limitMs = 10_000

const botFacts = {
  otherBots: 0,
  profile: scalingProfiles.Capacity10000,
  otherUse: noBotUse,
  limits: { maxBotCpu: Infinity, maxBotMemory: Infinity },
}

/** Opens the database of an API, to compare its rows with the resources of a cluster. */
export const openRows = (url: string, cluster: ReturnType<typeof connectTo>) => {
  const { db, close } = openDatabase({ url, poolSize: 4 })
  const findWorld = async (name: string) => (await db.select().from(worlds).where(eq(worlds.resourceName, name)))[0]
  const findBots = async (name: string) =>
    (await db.select().from(botDeployments).where(eq(botDeployments.resourceName, name)))[0]

  /** Returns what the row of a resource pushes, and its verdict about what the API server makes of that. */
  const planOf = async (kind: Kind, name: string) => {
    const [world, bots] = kind === 'World' ? [await findWorld(name), undefined] : [undefined, await findBots(name)]
    if (world !== undefined) {
      const judge = (live: Live) => decideWorld(world, readWorld(live as KubeWorld), false, { facts: freeFacts })
      return { desired: toDesired(worldAdapter, world, 'orrery'), judge }
    }
    if (bots === undefined) throw new Error(`${name} has no row`)
    const judge = (live: Live) => decideBots(bots, readBots(live as KubeBots), false, { facts: botFacts })
    return { desired: toDesired(botAdapter, bots, 'orrery'), judge }
  }

  return {
    close,
    /** Waits until everything up to a version of a resource is in its row, and no push of the row is pending. */
    isSettled: (kind: Kind, name: string, version = '0') =>
      eventually(
        `the row of ${name} is pushed`,
        async () => {
          const row = await (kind === 'World' ? findWorld(name) : findBots(name))
          if (row?.applied == null) return false
          const { rows } = await db.execute(sql`select from cluster_outbox where id = ${row.id}`)
          if (rows.length > 0) throw new Error(`a push is pending. ${row.statusMessage}`)
          return Number(row.appliedResourceVersion) >= Number(version)
        },
        { timeoutMs: limitMs },
      ),
    /**
     * Returns the resource of a row. Fails unless the API server accepts what the row pushes, adopting that would change
     * nothing, and the resource is exactly so.
     */
    isFixedPoint: async (kind: Kind, name: string): Promise<Live> => {
      const { desired, judge } = await planOf(kind, name)
      // A condition may have been written since the row was read.
      const { resourceVersion: _, ...metadata } = desired.metadata
      const pushed = await cluster.dryApply(kind, name, { ...desired, metadata })
      const verdict = judge(pushed)
      const isUnchanged = verdict.is === 'merged' && verdict.edit === undefined && verdict.reasons.length === 0
      if (!isUnchanged || verdict.pushAgain || !isDeepStrictEqual(pushed.spec, desired.spec)) {
        const shown = { verdict, row: desired.spec, pushed: pushed.spec }
        throw new Error(`the push of ${name} is no fixed point: ${JSON.stringify(shown)}`)
      }
      return eventually(
        `${name} is as its row`,
        async () => {
          const live = await cluster.read(kind, name)
          if (isDeepStrictEqual(live.spec, desired.spec)) return live
          throw new Error(JSON.stringify({ row: desired.spec, live: live.spec }))
        },
        { timeoutMs: limitMs },
      )
    },
  }
}

type KubeWorld = Live & World
type KubeBots = Live & BotDeployment
