import { canReach } from '#api/domain/access/authorise.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { documentParams } from '#api/domain/documents/schema.ts'
import { resolveDocument } from '#api/domain/documents/scope.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { pathOf, strongestVerb, strongestVerbBeneath } from '#shared/domain/permissions.ts'
import { isId } from '#shared/ids.ts'
import { type Fault, type ResourceName, type ResourceType, resourceTypes } from './protocol.ts'

/** The canonical identity of a resource: a document in its scope, or a world of an organization. */
export type Topic = ScopeIds & { readonly type: ResourceType; readonly id: string }

/** Returns the unique key of a topic. No part of a topic can contain the separator. */
export const topicKey = ({ type, organizationId, projectId, worldId, id }: Topic): string =>
  `${type}/${organizationId}/${projectId}/${worldId}/${id}`

/** Returns the topic of a world, which is identified by its organization and id. */
export const topicOfWorld = (organizationId: string, id: string): Topic => ({
  type: 'world',
  organizationId,
  projectId: '',
  worldId: '',
  id,
})

/** The target of a subscription. `isOwnScope` is true if the connection's headers name the scope of the topic. */
export type SubscriptionTarget = { readonly topic: Topic; readonly isOwnScope: boolean }

/** Resolves a resource name in the scope of the connection. Returns an error if the name is invalid. */
export const readTopic = (
  scope: ScopeIds,
  { type, id }: ResourceName,
): SubscriptionTarget | { fault: Fault; message: string } => {
  const resourceType = resourceTypes.find((each) => each === type)
  if (resourceType === undefined) return { fault: 'type', message: `The types are ${resourceTypes.join(', ')}.` }
  if (resourceType === 'world') {
    if (!isId('world', id)) return { fault: 'id', message: 'The id of a world is wld- and 26 characters.' }
    return { topic: topicOfWorld(scope.organizationId, id), isOwnScope: false }
  }
  if (resourceType === 'worlds') return readFeedTopic(scope, id)
  const parsed = documentParams.shape.id.safeParse(id)
  if (!parsed.success)
    return { fault: 'id', message: `The id is invalid: ${parsed.error.issues[0]?.message ?? 'unknown form'}.` }
  try {
    const { organizationId, projectId, worldId, id: localId } = resolveDocument(scope, id)
    const isOwn = (scopeId: string, topicId: string): boolean => topicId === '' || topicId === scopeId
    return {
      topic: { type: resourceType, organizationId, projectId, worldId, id: localId },
      isOwnScope: isOwn(scope.projectId, projectId) && isOwn(scope.worldId, worldId),
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const [first] = error.errors ?? []
    return { fault: 'id', message: `${first?.path ?? 'The id'}: ${first?.message ?? 'is invalid'}.` }
  }
}

/** Resolves the id of a feed: the organization of the connection, or a project of it. */
const readFeedTopic = (
  { organizationId, projectId }: ScopeIds,
  id: string,
): SubscriptionTarget | { fault: Fault; message: string } => {
  if (id !== organizationId && !isId('project', id)) {
    return { fault: 'id', message: 'The id is that of the organization, or prj- and 26 characters.' }
  }
  if (projectId !== '' && id !== projectId) {
    return { fault: 'id', message: `The connection is limited to the project ${projectId}.` }
  }
  return { topic: topicOfFeed(organizationId, id === organizationId ? '' : id), isOwnScope: true }
}

/** Returns the topic of all worlds of a project, or of an organization if `projectId` is ''. */
export const topicOfFeed = (organizationId: string, projectId: string): Topic => ({
  type: 'worlds',
  organizationId,
  projectId,
  worldId: '',
  id: '',
})

/** Reports whether the permissions allow reading a world of the feed. */
export const mayListFeed = (permissions: readonly string[], { organizationId, projectId }: Topic): boolean =>
  canReach(permissions, '', organizationId) &&
  (projectId === '' || canReach(permissions, pathOf(organizationId), projectId))

/** Reports whether the permissions allow reading every world of the feed. */
export const mayReadWholeFeed = (permissions: readonly string[], topic: Topic): boolean =>
  strongestVerbBeneath(permissions, permissionPath(topic)) !== undefined

/** Reports whether the permissions allow reading this world of the feed. */
export const mayReadWorld = (
  permissions: readonly string[],
  { organizationId }: Topic,
  { projectId, worldId }: { readonly projectId: string; readonly worldId: string },
): boolean => mayRead(permissions, pathOf(organizationId, projectId, worldId))

/** Returns the permission path of the scope that these ids name. */
export const permissionPath = ({ organizationId, projectId, worldId }: ScopeIds): string =>
  pathOf(organizationId, projectId || undefined, worldId || undefined)

/** Reports whether the permissions allow reading at the path. Every verb includes reading. */
export const mayRead = (permissions: readonly string[], path: string): boolean =>
  strongestVerb(permissions, path) !== undefined
