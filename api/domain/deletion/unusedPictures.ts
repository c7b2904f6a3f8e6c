import { eq } from 'drizzle-orm'
import type { Deps } from '#api/domain/access/context.ts'
import { organizations } from '#api/domain/organizations/table.ts'
import { filePathOf, picturePrefix } from '#api/domain/pictures/pictures.ts'
import { worlds } from '#api/domain/worlds/table.ts'
import { isId } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'

/** Younger objects are kept: an upload stores its object before it writes the row. */
const graceMs = 3_600_000
const pageSize = 500
const maxPages = 200

type CleanupDeps = Pick<Deps, 'db' | 'objects' | 'clock' | 'log'>

/** Removes stored pictures that no row references. Returns their number. */
export const removeUnusedPictures = async (deps: CleanupDeps, signal: AbortSignal): Promise<number> => {
  const { objects, clock } = deps
  let after: string | undefined
  let removed = 0
  for (let page = 0; page < maxPages && !signal.aborted; page += 1) {
    const objectsOfPage = await objects.list({ prefix: picturePrefix, limit: pageSize, ...withDefined({ after }) })
    for (const { name, modifiedAt } of objectsOfPage) {
      if (clock.now() - modifiedAt.getTime() < graceMs || (await isReferenced(deps, name))) continue
      await objects.remove(name)
      removed += 1
    }
    after = objectsOfPage.at(-1)?.name
    if (objectsOfPage.length < pageSize) break
  }
  if (removed > 0) deps.log.info({ removed }, 'removed unreferenced pictures')
  return removed
}

/**
 * Reports whether the row of the owner references the object. The object's name contains the owner's id. Hosts are not
 * compared, so that a change of the public URL removes no pictures.
 */
const isReferenced = async ({ db }: CleanupDeps, name: string): Promise<boolean> => {
  const owner = name.slice(picturePrefix.length).split('/')[0] ?? ''
  const table = isId('world', owner) ? worlds : organizations
  const [row] = await db.select({ pictureUrl: table.pictureUrl }).from(table).where(eq(table.id, owner))
  return row?.pictureUrl?.endsWith(filePathOf(name)) ?? false
}
