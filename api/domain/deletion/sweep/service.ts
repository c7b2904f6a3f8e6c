import { eq } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { filePathOf, picturePrefix } from '#api/domain/pictures/service.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { isId } from '#shared/ids.ts'

/** An upload stores its object before its row; what is younger than this may be on its way. */
const graceMs = 3_600_000
const pageSize = 500
const maxPages = 200

type SweepDeps = Pick<Deps, 'db' | 'objects' | 'clock' | 'log'>

/** Removes pictures that no row names: those of the deleted, and those whose removal failed. Returns how many went. */
export const sweepPictures = async (deps: SweepDeps, signal: AbortSignal): Promise<number> => {
  const { objects, clock } = deps
  let after: string | undefined
  let removed = 0
  for (let page = 0; page < maxPages && !signal.aborted; page += 1) {
    const found = await objects.list({ prefix: picturePrefix, limit: pageSize, ...(after ? { after } : {}) })
    for (const { name, modifiedAt } of found) {
      if (clock.now() - modifiedAt.getTime() < graceMs || (await isNamed(deps, name))) continue
      await objects.remove(name)
      removed += 1
    }
    after = found.at(-1)?.name
    if (found.length < pageSize) break
  }
  if (removed > 0) deps.log.info({ removed }, 'pictures: swept what no row names')
  return removed
}

/**
 * Reports whether the owner's row names the object; the owner's id is part of the object's name. Hosts are not compared,
 * so a new public URL removes no pictures.
 */
const isNamed = async ({ db }: SweepDeps, name: string): Promise<boolean> => {
  const owner = name.slice(picturePrefix.length).split('/')[0] ?? ''
  const table = isId('world', owner) ? worlds : organizations
  const [row] = await db.select({ pictureUrl: table.pictureUrl }).from(table).where(eq(table.id, owner))
  return row?.pictureUrl?.endsWith(filePathOf(name)) ?? false
}
