import { idOfUid, isId } from '#shared/ids.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { idLabelOf, type Kind } from './group.ts'

/** A resource, as far as its id follows from it. */
export type Identified = Pick<KubeObject, 'metadata'> & {
  readonly spec: { readonly revision?: number | undefined }
  readonly status?: { readonly worldId?: string | undefined } | undefined
}

/**
 * Returns the id of a resource's record. Of a resource with a revision, which only the API writes, it is the name if that is an
 * id, else `status.worldId` of a World or the label. Of any other it is the id that follows from the uid, so that a resource that
 * kubectl creates cannot have the id of another tenant's row.
 */
export const resourceIdOf = (kind: Kind, { metadata, spec, status }: Identified): string => {
  // A resource that the API recreated has another uid than at first, and so another id by its uid.
  const written = [metadata.name, status?.worldId, metadata.labels?.[idLabelOf(kind)]]
  const names = spec.revision === undefined ? [] : written
  return names.find((name) => name !== undefined && isId(kind, name)) ?? idOfUid(kind, metadata.uid ?? '')
}
