import { type IdKind, idOfUid, isId } from '#shared/ids.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { labels } from './group.ts'

/** A resource, as far as its id follows from it. */
export type Identified = Pick<KubeObject, 'metadata'> & {
  readonly spec: { readonly revision?: number | undefined }
  readonly status?: { readonly worldId?: string | undefined } | undefined
}

/**
 * Returns the id of a World's record. Of a resource with a revision, which only the API writes, it is the name if that is an
 * id, else `status.worldId` or the label. Of any other it is the id that follows from the uid, so that a resource that kubectl
 * creates cannot have the id of another tenant's world.
 */
export const worldIdOf = (world: Identified): string =>
  idOf(world, 'world', [world.status?.worldId, world.metadata.labels?.[labels.worldId]])

/** Returns the id of a BotDeployment's record, like that of a World. */
export const botDeploymentIdOf = (bots: Identified): string =>
  idOf(bots, 'bot', [bots.metadata.labels?.[labels.botDeploymentId]])

// A resource that the API recreated has another uid than at first, and so another id by its uid.
const idOf = ({ metadata, spec }: Identified, kind: IdKind, written: readonly (string | undefined)[]): string => {
  const names = spec.revision === undefined ? [] : [metadata.name, ...written]
  return names.find((name) => name !== undefined && isId(kind, name)) ?? idOfUid(kind, metadata.uid ?? '')
}
