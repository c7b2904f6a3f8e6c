/** A level of access to a scope: `r` reads, `w` reads and writes, `*` also manages API keys. */
export type Verb = 'r' | 'w' | '*'

const order: readonly Verb[] = ['r', 'w', '*']

/** Reports whether one verb includes another. Each verb includes itself. */
export const includes = (held: Verb, needed: Verb): boolean => order.indexOf(held) >= order.indexOf(needed)

/** A parsed permission. With `subtree` it also applies to all scopes below. */
type Grant = { readonly path: string; readonly subtree: boolean; readonly verb: Verb }

/** An id in a path: any text without control characters and without the characters that structure a permission. */
const anyId = '[^/:*\\u0000-\\u001f\\u007f-\\u009f]{1,128}'

/** The syntax of a permission, also used in the API reference. */
export const permissionPattern = new RegExp(
  `^(\\*|organizations/${anyId}(/projects/${anyId}(/worlds/${anyId})?)?(/\\*\\*)?:[rw*])$`,
  'u',
)

/** The maximum length of a permission, in code points: three ids of 128 and what stands between them. */
export const maxPermissionLength = 512

/** Returns the permissions that are well formed and lie within an organization. */
export const permissionsWithin = (organizationId: string, permissions: readonly string[]): string[] => {
  const own = `organizations/${organizationId}`
  return permissions.filter(
    (each) =>
      (each.startsWith(`${own}:`) || each.startsWith(`${own}/`)) && each.isWellFormed() && permissionPattern.test(each),
  )
}

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
 * Returns the strongest verb that permissions grant on a path such as `organizations/{id}/projects/{id}`, or undefined.
 * `path:verb` grants the scope alone, `path/**:verb` the scope and all scopes below, and `*` everything.
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

/** Returns the strongest verb that permissions grant on a scope and all scopes below it, or undefined. */
export const strongestVerbBeneath = (permissions: readonly string[], path: string): Verb | undefined =>
  strongestVerb(
    permissions.filter((each) => each === '*' || parse(each)?.subtree === true),
    path,
  )

/** Reports whether a holder of permissions may grant another: only if it gives no more than they do, on every scope. */
export const mayGrant = (held: readonly string[], permission: string): boolean => {
  if (held.includes('*')) return true
  const grant = parse(permission)
  if (grant === undefined) return false
  const verb = grant.subtree ? strongestVerbBeneath(held, grant.path) : strongestVerb(held, grant.path)
  return verb !== undefined && includes(verb, grant.verb)
}

type ProjectIds = { readonly organizationId: string; readonly projectId: string }

/**
 * The worlds that permissions make readable: all, those of whole organizations and projects, and single ones. Match every
 * id with the ids above it: a tenant may hold a permission that names another tenant's project or world under its own
 * organization.
 */
export type ReadableWorlds = {
  readonly all: boolean
  readonly organizations: readonly string[]
  readonly projects: readonly ProjectIds[]
  readonly worlds: readonly (ProjectIds & { readonly worldId: string })[]
}

/** Returns the worlds that permissions make readable. Every verb includes reading. */
export const readableWorlds = (permissions: readonly string[]): ReadableWorlds => {
  const scopes = permissions.flatMap((each) => {
    const grant = parse(each)
    if (grant === undefined) return []
    const [, organizationId = '', , projectId = '', , worldId = ''] = grant.path.split('/')
    return [{ organizationId, projectId, worldId, subtree: grant.subtree }]
  })
  const wholeScopes = scopes.filter(({ subtree, worldId }) => subtree && worldId === '')
  return {
    all: permissions.includes('*'),
    organizations: wholeScopes.flatMap(({ organizationId, projectId }) => (projectId === '' ? [organizationId] : [])),
    projects: wholeScopes.filter(({ projectId }) => projectId !== ''),
    worlds: scopes.filter(({ worldId }) => worldId !== ''),
  }
}

/** Returns the ids of the organizations (`parent` '') or of an organization's projects with a verb on or below them. */
export const reachableChildren = (permissions: readonly string[], parent: string): readonly string[] | 'all' => {
  if (parent === '' ? permissions.includes('*') : strongestVerbBeneath(permissions, parent) !== undefined) return 'all'
  const prefix = parent === '' ? 'organizations/' : `${parent}/projects/`
  const ids = permissions.flatMap((each) => {
    const path = parse(each)?.path ?? ''
    return path.startsWith(prefix) ? [path.slice(prefix.length).split('/')[0] ?? ''] : []
  })
  return [...new Set(ids)]
}
