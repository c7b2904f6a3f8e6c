import { idPattern } from '#shared/ids.ts'

/** What a permission allows on a node: read, write (and read), or all (and keys). */
export type Verb = 'r' | 'w' | '*'

const order: readonly Verb[] = ['r', 'w', '*']
/** Whether holding one verb is enough where another is needed. */
export const includes = (held: Verb, needed: Verb): boolean => order.indexOf(held) >= order.indexOf(needed)

/** A permission taken apart: a node of the tree, whether all beneath it too, and what may be done there. */
type Grant = { readonly path: string; readonly subtree: boolean; readonly verb: Verb }

const anyId = (kind: 'organization' | 'project' | 'world'): string => idPattern(kind).slice(1, -1)

/** The grammar of a permission, as a pattern for the API reference. */
export const permissionPattern = new RegExp(
  `^(\\*|organizations/${anyId('organization')}(/projects/${anyId('project')}(/worlds/${anyId('world')})?)?(/\\*\\*)?:[rw*])$`,
)

const parse = (permission: string): Grant | undefined => {
  const colon = permission.lastIndexOf(':')
  const verb = order.find((each) => each === permission.slice(colon + 1))
  if (colon < 0 || verb === undefined) return undefined
  const pattern = permission.slice(0, colon)
  const subtree = pattern.endsWith('/**')
  return { path: subtree ? pattern.slice(0, -3) : pattern, subtree, verb }
}

const reaches = (grant: Grant, path: string): boolean =>
  grant.path === path || (grant.subtree && path.startsWith(`${grant.path}/`))

/**
 * The strongest verb that permissions give on a node such as `organizations/{id}/projects/{id}`; undefined is none.
 * `path:verb` is the node itself, `path/**:verb` the node and all beneath it, `*` alone is everything.
 */
export const strongestVerb = (permissions: readonly string[], path: string): Verb | undefined => {
  let strongest: Verb | undefined
  for (const permission of permissions) {
    if (permission === '*') return '*'
    const grant = parse(permission)
    if (grant === undefined || !reaches(grant, path)) continue
    if (strongest === undefined || includes(grant.verb, strongest)) strongest = grant.verb
  }
  return strongest
}

/** The strongest verb on a node and all beneath it. */
export const strongestVerbBeneath = (permissions: readonly string[], path: string): Verb | undefined =>
  strongestVerb(
    permissions.filter((each) => each === '*' || parse(each)?.subtree === true),
    path,
  )

/** Whether who holds some permissions may hand on another: never one that gives more than they do, on any node. */
export const mayGrant = (held: readonly string[], permission: string): boolean => {
  if (held.includes('*')) return true
  const grant = parse(permission)
  if (grant === undefined) return false
  const verb = grant.subtree ? strongestVerbBeneath(held, grant.path) : strongestVerb(held, grant.path)
  return verb !== undefined && includes(verb, grant.verb)
}

type ProjectIds = { readonly organizationId: string; readonly projectId: string }

/**
 * The worlds that permissions let one read: everything, or those of whole organizations and projects, and single ones.
 * Each comes with the ids above it, and counts only there: anybody may hold a permission that puts another tenant's
 * project or world beneath an organization of their own.
 */
export type ReadableWorlds = {
  readonly all: boolean
  readonly organizations: readonly string[]
  readonly projects: readonly ProjectIds[]
  readonly worlds: readonly (ProjectIds & { readonly worldId: string })[]
}

/** Sorts permissions by what they let one list; every verb reads. */
export const readableWorlds = (permissions: readonly string[]): ReadableWorlds => {
  const nodes = permissions.flatMap((each) => {
    const grant = parse(each)
    if (grant === undefined) return []
    const [, organizationId = '', , projectId = '', , worldId = ''] = grant.path.split('/')
    return [{ organizationId, projectId, worldId, subtree: grant.subtree }]
  })
  const whole = nodes.filter(({ subtree, worldId }) => subtree && worldId === '')
  return {
    all: permissions.includes('*'),
    organizations: whole.flatMap(({ organizationId, projectId }) => (projectId === '' ? [organizationId] : [])),
    projects: whole.filter(({ projectId }) => projectId !== ''),
    worlds: nodes.filter(({ worldId }) => worldId !== ''),
  }
}

/** The ids of the organizations, or of an organization's projects, on which or beneath which there is a verb. */
export const reachableChildren = (permissions: readonly string[], parent: string): readonly string[] | 'all' => {
  if (parent === '' ? permissions.includes('*') : strongestVerbBeneath(permissions, parent) !== undefined) return 'all'
  const prefix = parent === '' ? 'organizations/' : `${parent}/projects/`
  const found = permissions.flatMap((each) => {
    const path = parse(each)?.path ?? ''
    return path.startsWith(prefix) ? [path.slice(prefix.length).split('/')[0] ?? ''] : []
  })
  return [...new Set(found)]
}
