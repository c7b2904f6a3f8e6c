import { pathOf } from '#api/domain/access/authorise.ts'
import { strongestVerb } from '#api/domain/access/permissions.ts'
import type { ScopeIds } from '#api/domain/access/scope.ts'
import { documentParams } from '#api/domain/documents/schema.ts'
import { placeOf } from '#api/domain/documents/scope.ts'
import { Problem } from '#api/platform/http/problem.ts'
import { isId } from '#shared/ids.ts'
import { type Fault, type Named, type ResourceType, resourceTypes } from './protocol.ts'

/** What is followed, whoever names it how: a document in its scope, or a world of an organization. */
export type Topic = ScopeIds & { readonly type: ResourceType; readonly id: string }

/** One text for one topic: no part of it can hold the separator. */
export const topicKey = ({ type, organizationId, projectId, worldId, id }: Topic): string =>
  `${type}/${organizationId}/${projectId}/${worldId}/${id}`

/** The topic of a world, which is followed by its id alone. */
export const topicOfWorld = (organizationId: string, id: string): Topic => ({
  ...{ type: 'world', organizationId, projectId: '', worldId: '', id },
})

/** What a subscription asks for; `known` says that the connection's own headers name its scope. */
export type Asked = { readonly topic: Topic; readonly known: boolean }

/** Finds what a client names from the scope of its connection, or what is wrong with the name. */
export const readTopic = (scope: ScopeIds, { type, id }: Named): Asked | { fault: Fault; message: string } => {
  const known = resourceTypes.find((each) => each === type)
  if (known === undefined) return { fault: 'type', message: `The types are ${resourceTypes.join(', ')}.` }
  if (known === 'world') {
    if (!isId('world', id)) return { fault: 'id', message: 'The id must be that of a world, wld- and 26 characters.' }
    return { topic: topicOfWorld(scope.organizationId, id), known: false }
  }
  const parsed = documentParams.shape.id.safeParse(id)
  if (!parsed.success) return { fault: 'id', message: `The id ${parsed.error.issues[0]?.message ?? 'is not valid'}.` }
  try {
    const { organizationId, projectId, worldId, id: own } = placeOf(scope, id)
    const named = (inScope: string, found: string): boolean => found === '' || found === inScope
    return {
      topic: { type: known, organizationId, projectId, worldId, id: own },
      known: named(scope.projectId, projectId) && named(scope.worldId, worldId),
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const [first] = error.errors ?? []
    return { fault: 'id', message: `${first?.path ?? 'The id'} ${first?.message ?? 'is not valid'}.` }
  }
}

/** The node of the tree whose permissions count for something at these ids. */
export const nodePath = ({ organizationId, projectId, worldId }: ScopeIds): string =>
  pathOf(organizationId, projectId || undefined, worldId || undefined)

/** Whether permissions let one read at a node: every verb reads. */
export const mayRead = (permissions: readonly string[], path: string): boolean =>
  strongestVerb(permissions, path) !== undefined
