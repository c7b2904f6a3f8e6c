import { isRecord } from '#shared/kube/errors.ts'

/** The leaves of a spec by JSON Pointer (RFC 6901). A list is one leaf. An empty object has none. */
export type Leaves = ReadonlyMap<string, unknown>

/** Returns the leaves of an object. */
export const leavesOf = (value: object): Map<string, unknown> => {
  const leaves = new Map<string, unknown>()
  const walk = (at: string, field: unknown): void => {
    if (isRecord(field)) for (const [name, inner] of Object.entries(field)) walk(`${at}/${escapeName(name)}`, inner)
    else if (field !== undefined) leaves.set(at, field)
  }
  walk('', value)
  return leaves
}

type Tree = Map<string, Tree | { readonly leaf: unknown }>

/** Returns the object that has these leaves. */
export const objectOf = (leaves: Leaves): object => {
  const root: Tree = new Map()
  for (const [pointer, leaf] of leaves) {
    const path = pathOf(pointer)
    let tree = root
    for (const name of path.slice(0, -1)) {
      const inner = tree.get(name)
      const next: Tree = inner instanceof Map ? inner : new Map()
      tree.set(name, next)
      tree = next
    }
    tree.set(path.at(-1) ?? '', { leaf })
  }
  return toObject(root)
}

// Object.fromEntries defines own members, also one named __proto__.
const toObject = (tree: Tree): object =>
  Object.fromEntries([...tree].map(([name, inner]) => [name, inner instanceof Map ? toObject(inner) : inner.leaf]))

/** Returns the JSON Pointer of a path. */
export const pointerOf = (path: readonly string[]): string => path.map((name) => `/${escapeName(name)}`).join('')

/** Reports whether a field is, or contains, the leaf at `pointer`. */
export const covers = (field: string, pointer: string): boolean =>
  pointer === field || pointer.startsWith(`${field}/`) || field === ''

const maxKeyLength = 64

/** Returns the name of a leaf for people, such as `spec.runtime.image` or `spec.metadata.labels["team"]`. */
export const nameOf = (pointer: string): string => {
  const path = pathOf(pointer)
  const isEntry = path.length === 3 && path[0] === 'metadata'
  const key = path[2] ?? ''
  // A key may have characters that Postgres refuses. A name is stored.
  const shown = JSON.stringify(key.length > maxKeyLength ? `${key.slice(0, maxKeyLength)}…` : key)
  return isEntry ? `spec.metadata.${path[1]}[${shown}]` : ['spec', ...path].join('.')
}

const pathOf = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))

const escapeName = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1')

/**
 * Returns a JSON Merge Patch (RFC 7386) that makes `live` equal to `wanted`, or undefined if `live` has no member that
 * `wanted` lacks.
 */
export const toMergePatch = (live: unknown, wanted: unknown): object | undefined => {
  if (!isRecord(live) || !isRecord(wanted)) return undefined
  const entries = Object.keys({ ...live, ...wanted }).map((name) => {
    const inner = Object.hasOwn(wanted, name) ? toMergePatch(live[name], wanted[name]) : undefined
    const isUnwanted = !Object.hasOwn(wanted, name)
    return { name, value: isUnwanted ? null : (inner ?? wanted[name]), hasRemoval: isUnwanted || inner !== undefined }
  })
  return entries.some(({ hasRemoval }) => hasRemoval)
    ? Object.fromEntries(entries.map(({ name, value }) => [name, value]))
    : undefined
}
