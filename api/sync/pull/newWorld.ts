import { eq } from 'drizzle-orm'
import { lockLimits } from '#api/domain/organizations/service.ts'
import { ensureDefaultProject, findDefaultProject, lockProject } from '#api/domain/projects/service.ts'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import { checkWorldCount } from '#api/domain/worlds/service.ts'
import { launchContexts, type WorldRow, worlds } from '#api/domain/worlds/table.ts'
import type { Transaction } from '#api/platform/database/client.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import type { Clock } from '#shared/clock.ts'
import { idOfUid, isId, type NewId } from '#shared/ids.ts'
import type { ObjectMeta } from '#shared/kube/objects.ts'
import { labels } from '#shared/resources/group.ts'
import type { World } from '#shared/resources/world.ts'
import type { LimitDeps } from './edits.ts'
import { NotAdopted } from './newResource.ts'

/** The dependencies of an adoption. */
export type NewWorldDeps = LimitDeps & { readonly cluster: string; readonly clock: Clock; readonly newId: NewId }

/**
 * Adds the row and the launch context of a World that kubectl created. The row has the defaults of REST and is the base of the
 * World's edits, so the merge that follows adopts the spec. Throws `NotAdopted`, or a `Problem` at a limit.
 */
export const insertNewWorld = async (
  deps: NewWorldDeps,
  tx: Transaction,
  { organizationId, metadata, spec }: { organizationId: string; metadata: ObjectMeta; spec: World['spec'] },
): Promise<WorldRow> => {
  const now = new Date(deps.clock.now())
  const { name, uid = '' } = metadata
  const lockOrganization = () => lockLimits({ organizationId, defaultLimits: deps.defaultLimits }, tx)
  const projectId = await findProject(deps, tx, { organizationId, metadata, now, lockOrganization })
  const limits = await lockOrganization()
  await checkWorldCount(tx, organizationId, limits)
  const { world, launchContext } = buildWorldRows(
    createWorldBody.parse({ name: nameOf(spec.displayName, name), transient: false }),
    {
      organizationId,
      projectId,
      cluster: deps.cluster,
      newId: (kind) => (kind === 'world' ? (isId('world', name) ? name : idOfUid('world', uid)) : deps.newId(kind)),
      now,
    },
  )
  const [row] = await tx
    .insert(worlds)
    .values({ ...world, resourceName: name, resourceUid: uid })
    .returning()
  if (row === undefined) throw new Error('Postgres returned no row.')
  await tx.insert(launchContexts).values(launchContext)
  const { revision: _, ...applied } = desiredSpec(row)
  await tx.update(worlds).set({ applied }).where(eq(worlds.id, row.id))
  return { ...row, applied }
}

/** Returns the name that REST shows: the display name, or else the name of the resource. */
const nameOf = (displayName: string, resourceName: string): string =>
  [displayName, resourceName.slice(0, 64)].find((name) => createWorldBody.shape.name.safeParse(name).success) ??
  `World ${resourceName}`

type NewProject = {
  readonly organizationId: string
  readonly metadata: ObjectMeta
  readonly now: Date
  readonly lockOrganization: () => Promise<unknown>
}

/** Returns the id of the project of a new World. Locks the project before the organization, as REST does. */
const findProject = async (
  { newId }: NewWorldDeps,
  tx: Transaction,
  { organizationId, metadata, now, lockOrganization }: NewProject,
): Promise<string> => {
  const projectId = metadata.labels?.[labels.project]
  if (projectId === undefined) {
    const known = await findDefaultProject(tx, organizationId)
    if (known !== undefined) return known
    await lockOrganization()
    return ensureDefaultProject(tx, { organizationId, id: newId('project'), now })
  }
  if (await lockProject(tx, { organizationId, projectId })) return projectId
  throw new NotAdopted(
    'ProjectNotFound',
    `The label ${labels.project} is ${projectId}, but the organization has no such project. Correct or remove the label.`,
  )
}
