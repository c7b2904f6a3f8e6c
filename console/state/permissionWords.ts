/** The names and ids that describe a permission. */
type Known = {
  readonly organizationId: string
  /** Returns the name of a project of the organization, or '' if it is not known. */
  readonly projectName: (projectId: string) => string
}

const pattern = /^organizations\/([^/]+)(?:\/projects\/([^/]+)(?:\/worlds\/([^/]+))?)?(\/\*\*)?:([rw*])$/

const verbs: Readonly<Record<string, string>> = {
  r: 'Reads',
  w: 'Reads and changes',
  '*': 'Has full access to',
}

/** Returns a permission in words. One in a form that the API does not know has no effect, and is shown as it is. */
export const describePermission = (permission: string, known: Known): string => {
  if (permission === '*') return 'Has full access to the platform'
  const [, organizationId = '', projectId, worldId, subtree, verb = ''] = pattern.exec(permission) ?? []
  if (organizationId === '') return `Has no known effect: ${permission}`
  const isOwn = organizationId === known.organizationId
  const organization = isOwn ? 'the organization' : `another organization, ${organizationId}`
  const isDeep = subtree !== undefined
  const words = `${verbs[verb]} `
  const managesKeys = verb === '*' ? ', and manages its keys' : ''
  if (projectId === undefined) {
    const below = isDeep ? ' and all its projects and worlds' : ' itself, not its projects and worlds'
    return `${words}${organization}${below}${managesKeys}`
  }
  const name = isOwn ? known.projectName(projectId) : ''
  const project = `project ${name === '' ? projectId : `“${name}”`}${isOwn ? '' : ` of ${organization}`}`
  if (worldId !== undefined) return `${words}world ${worldId} in ${project}`
  return `${words}${project}${isDeep ? ' and all its worlds' : ' itself, not its worlds'}`
}

const claimWords: ReadonlyMap<string, string> = new Map([
  ['createOrganization', 'Creates organizations'],
  ['largeWorlds', 'Starts worlds with profiles above Capacity1000'],
  ['worldServer', 'Writes documents of world servers'],
  ['bot', 'Is limited to reading its world, whatever the permissions say'],
])

/** Returns the granted claims of a key in words. */
export const describeClaims = (claims: Readonly<Record<string, boolean>>): readonly string[] =>
  Object.entries(claims).flatMap(([claim, isGranted]) =>
    isGranted ? [claimWords.get(claim) ?? `Has the claim ${claim}, which has no effect here`] : [],
  )
