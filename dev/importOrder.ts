import { dirname, join } from 'node:path/posix'

/** The other folders that the files of a folder may import. The longest path that fits a file counts. */
const allowed: Record<string, readonly string[]> = {
  shared: [],
  'api/platform': ['shared'],
  'api/domain': ['api/platform', 'shared'],
  'api/sync': ['api/sync/merge', 'api/domain', 'api/platform', 'shared'],
  // It decides without I/O, so it has no use for the database.
  'api/sync/merge': ['api/sync', 'api/domain', 'shared'],
  'api/realtime': ['api/domain', 'api/platform', 'shared'],
  api: ['api/sync', 'api/realtime', 'api/domain', 'api/platform', 'shared'],
}

/** The folders whose subfolders must not import each other in a cycle. */
const acyclic = ['api/platform', 'api/domain', 'api/sync']

/** A source file: its path relative to the root of the project, with slashes, and its text. */
export type Source = { readonly file: string; readonly text: string }

/** The paths of a source file and of a file that it imports, relative to the root of the project. */
type Import = { readonly from: string; readonly to: string }

/** Returns a message for each import against the order of the folders, type imports included, and for each cycle of folders. */
export const findOrderFaults = (sources: readonly Source[]): string[] => {
  const imports = sources.flatMap(importsOf)
  return [...forbiddenImports(imports), ...acyclic.flatMap((folder) => folderCycles(folder, imports))]
}

const importsOf = ({ file, text }: Source): Import[] =>
  [...text.matchAll(/(?:\bfrom|\bimport\(?)\s*'([#.][^']+\.ts)'/g)].map(([, name = '']) => ({
    from: file,
    to: name.startsWith('#') ? name.slice(1) : join(dirname(file), name),
  }))

const isIn = (folder: string, file: string): boolean => file.startsWith(`${folder}/`)

const layerOf = (file: string): string | undefined =>
  Object.keys(allowed)
    .filter((folder) => isIn(folder, file))
    .sort((a, b) => b.length - a.length)[0]

/** Returns a message for each import of a folder that the importing folder may not use. */
const forbiddenImports = (imports: readonly Import[]): string[] =>
  imports.flatMap(({ from, to }) => {
    const layer = layerOf(from)
    const target = layerOf(to) ?? to.split('/')[0] ?? ''
    if (layer === undefined || target === layer || allowed[layer]?.includes(target)) return []
    const names = allowed[layer]?.join(', ') || 'no other folder'
    return [`${from} imports ${to}. Files in ${layer} may import ${names}.`]
  })

/** Returns the imports between the subfolders of a folder, by importing and imported subfolder. */
const importsBetween = (folder: string, imports: readonly Import[]): Map<string, Map<string, Import[]>> => {
  const childOf = (file: string): string | undefined => {
    const [child, rest] = isIn(folder, file) ? file.slice(folder.length + 1).split('/') : []
    return rest === undefined ? undefined : child
  }
  const edges = new Map<string, Map<string, Import[]>>()
  for (const each of imports) {
    const [from, to] = [childOf(each.from), childOf(each.to)]
    if (from === undefined || to === undefined || from === to) continue
    const targets = edges.get(from) ?? new Map<string, Import[]>()
    edges.set(from, targets.set(to, [...(targets.get(to) ?? []), each]))
  }
  return edges
}

/** Returns a message for each pair of subfolders that is part of a cycle, those with the fewest imports first. */
const folderCycles = (folder: string, imports: readonly Import[]): string[] => {
  const edges = importsBetween(folder, imports)
  const isReachable = (start: string, end: string): boolean => {
    const seen = new Set([start])
    for (const at of seen) for (const next of edges.get(at)?.keys() ?? []) seen.add(next)
    return seen.has(end)
  }
  return [...edges]
    .flatMap(([from, targets]) => [...targets].map(([to, between]) => ({ from, to, between })))
    .filter(({ from, to }) => isReachable(to, from))
    .sort((a, b) => a.between.length - b.between.length)
    .map(({ from, to, between: [first, ...rest] }) => {
      const example = `${first?.from} imports ${first?.to}`
      return `${folder}: ${from} → ${to} is part of a cycle (${rest.length + 1} imports, such as ${example}).`
    })
}
