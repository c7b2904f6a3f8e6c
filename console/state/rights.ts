import { operations } from '#client/operations.ts'
import type { OperationId } from '#client/types.ts'
import {
  includes,
  pathOf,
  reachableChildren,
  strongestVerb,
  strongestVerbBeneath,
  type Verb,
} from '#shared/domain/permissions.ts'

/** The rights of a signed-in credential. */
export type Rights = {
  readonly kind: 'platform' | 'key' | 'user'
  readonly permissions: readonly string[]
  readonly claims: Readonly<Record<string, boolean>>
}

/** The place of a request. An id that it does not need is ''. */
export type Target = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

type ScopeName = 'organization' | 'project' | 'world'

/** The needs of an operation, as the API documents them. Without a scope, only the request decides about the verb. */
type Needs = {
  readonly scope?: ScopeName
  readonly verb?: Verb
  readonly subtree?: true
  readonly claim?: string
  readonly platformOnly?: true
  readonly credential?: 'key' | 'token'
}

const table: Readonly<Record<OperationId, { readonly path: string; readonly needs?: Needs }>> = operations

/**
 * Returns the permission that a credential lacks for an operation, as a sentence, or undefined if the API would not refuse it. What
 * only the API knows, such as limits and the body of the request, is not checked.
 */
export const refusalOf = (credential: Rights, operationId: OperationId, target: Target): string | undefined => {
  const { needs = {} } = table[operationId]
  return (
    refusalOfKind(credential, needs) ?? refusalOfVerb(credential, needs, target) ?? refusalOfClaim(credential, needs)
  )
}

const refusalOfKind = ({ kind }: Rights, { credential }: Needs): string | undefined => {
  if (credential === 'key' && kind === 'user') return 'Needs an API key, not the token of a user'
  if (credential === 'token' && kind !== 'user') return 'Needs the token of a user, not an API key'
  return undefined
}

const refusalOfVerb = (
  { permissions }: Rights,
  { scope, verb, subtree }: Needs,
  target: Target,
): string | undefined => {
  if (scope === undefined || verb === undefined) return undefined
  const { organizationId, projectId, worldId } = target
  const path = pathOf(organizationId, scope === 'organization' ? '' : projectId, scope === 'world' ? worldId : '')
  const held = subtree ? strongestVerbBeneath(permissions, path) : strongestVerb(permissions, path)
  if (held !== undefined && includes(held, verb)) return undefined
  return subtree
    ? `Needs ${verb} on the ${scope} and all below it: ${path}/**:${verb}`
    : `Needs ${verb} on the ${scope}: ${path}:${verb}`
}

const refusalOfClaim = ({ permissions, claims }: Rights, { claim, platformOnly }: Needs): string | undefined => {
  if (claim !== undefined && claims[claim] !== true) return `Needs the claim ${claim}`
  return platformOnly && !permissions.includes('*') ? 'Needs the platform key' : undefined
}

/**
 * Returns the project whose worlds a credential can follow: the wanted one, or its first one. Empty if it has a permission on the
 * organization, so that it can follow all projects.
 */
export const projectOf = (permissions: readonly string[], organizationId: string, wanted: string): string => {
  const path = pathOf(organizationId)
  if (organizationId === '' || strongestVerb(permissions, path) !== undefined) return ''
  const projects = reachableChildren(permissions, path)
  return projects === 'all' ? '' : wanted || (projects[0] ?? '')
}
