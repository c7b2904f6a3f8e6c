/** A level of access to a scope: `r` reads, `w` reads and writes, `*` also manages API keys. */
export type Verb = 'r' | 'w' | '*'

const order: readonly Verb[] = ['r', 'w', '*']

/** Reports whether one verb includes another. Each verb includes itself. */
export const includes = (held: Verb, needed: Verb): boolean => order.indexOf(held) >= order.indexOf(needed)

/** Returns the path of a scope in the permission tree, such as `organizations/{id}/projects/{id}`. */
export const pathOf = (organizationId: string, projectId?: string, worldId?: string): string =>
  [`organizations/${organizationId}`, projectId && `projects/${projectId}`, worldId && `worlds/${worldId}`]
    .filter(Boolean)
    .join('/')

/** A parsed permission. With `subtree` it also applies to all scopes below. */
type Grant = { readonly path: string; readonly subtree: boolean; readonly verb: Verb }

const parse = (permission: string): Grant | undefined => {
  const colon = permission.lastIndexOf(':')
  const verb = order.find((each) => each === permission.slice(colon + 1))
  if (colon < 0 || verb === undefined) return undefined
  const pattern = permission.slice(0, colon)
  const subtree = pattern.endsWith('/**')
  return { path: subtree ? pattern.slice(0, -3) : pattern, subtree, verb }
}

/** Permissions by path. The time of a check depends on the length of its path, not on the number of permissions. */
type Grants = {
  readonly all: boolean
  /** The verbs on the scopes that permissions name without `/**`. */
  readonly scopes: ReadonlyMap<string, Verb>
  /** The verbs on scopes and all scopes below. */
  readonly subtrees: ReadonlyMap<string, Verb>
}

const compile = (permissions: readonly string[]): Grants => {
  const scopes = new Map<string, Verb>()
  const subtrees = new Map<string, Verb>()
  for (const permission of permissions) {
    const grant = parse(permission)
    if (grant === undefined) continue
    const verbs = grant.subtree ? subtrees : scopes
    verbs.set(grant.path, stronger(verbs.get(grant.path), grant.verb) ?? grant.verb)
  }
  return { all: permissions.includes('*'), scopes, subtrees }
}

const stronger = (a: Verb | undefined, b: Verb | undefined): Verb | undefined =>
  a === undefined || (b !== undefined && includes(b, a)) ? b : a

const compiled = new WeakMap<readonly string[], Grants>()
const grantsOf = (permissions: readonly string[]): Grants => {
  const known = compiled.get(permissions)
  if (known !== undefined) return known
  const grants = compile(permissions)
  compiled.set(permissions, grants)
  return grants
}

/**
 * Returns the strongest verb that permissions grant on a path such as `organizations/{id}/projects/{id}`, or undefined.
 * `path:verb` grants the scope alone, `path/**:verb` the scope and all scopes below, and `*` everything. An array must not be
 * changed after its first check.
 */
export const strongestVerb = (permissions: readonly string[], path: string): Verb | undefined =>
  stronger(strongestVerbBeneath(permissions, path), grantsOf(permissions).scopes.get(path))

/** Returns the strongest verb that permissions grant on a scope and all scopes below it, or undefined. */
export const strongestVerbBeneath = (permissions: readonly string[], path: string): Verb | undefined => {
  const { all, subtrees } = grantsOf(permissions)
  if (all) return '*'
  let strongest = subtrees.get(path)
  for (let end = path.lastIndexOf('/'); end >= 0; end = path.lastIndexOf('/', end - 1)) {
    strongest = stronger(strongest, subtrees.get(path.slice(0, end)))
    if (end === 0) break
  }
  return strongest
}

/** Reports whether a holder of permissions may grant another: only if it gives no more than they do, on every scope. */
export const mayGrant = (held: readonly string[], permission: string): boolean => {
  if (grantsOf(held).all) return true
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
