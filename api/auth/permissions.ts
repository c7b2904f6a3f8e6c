/** What a permission allows on a node: read, write (and read), or all (and keys). */
export type Verb = 'r' | 'w' | '*'

const order: readonly Verb[] = ['r', 'w', '*']
/** Whether holding one verb is enough where another is needed. */
export const includes = (held: Verb, needed: Verb): boolean => order.indexOf(held) >= order.indexOf(needed)

/**
 * The strongest verb that permissions give on a node such as `organizations/{id}/projects/{id}`; undefined is none.
 * `path:verb` is the node itself, `path/**:verb` the node and all beneath it, `*` alone is everything.
 */
export const strongestVerb = (permissions: readonly string[], path: string): Verb | undefined => {
  let strongest: Verb | undefined
  for (const permission of permissions) {
    const verb = verbOn(permission, path)
    if (verb !== undefined && (strongest === undefined || includes(verb, strongest))) strongest = verb
  }
  return strongest
}

const verbOn = (permission: string, path: string): Verb | undefined => {
  if (permission === '*') return '*'
  const colon = permission.lastIndexOf(':')
  const verb = order.find((each) => each === permission.slice(colon + 1))
  const pattern = permission.slice(0, colon)
  const subtree = pattern.endsWith('/**') ? pattern.slice(0, -3) : undefined
  const covers = subtree === undefined ? pattern === path : path === subtree || path.startsWith(`${subtree}/`)
  return covers ? verb : undefined
}
