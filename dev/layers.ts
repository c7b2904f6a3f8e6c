import { globSync, readFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

// Part of `npm run lint`: fails where an import breaks the order of the folders, type imports included.

/** The folders that the files of a folder may import beside their own. The longest path that fits a file counts. */
const allowed: Record<string, readonly string[]> = {
  shared: [],
  'api/platform': ['shared'],
  'api/domain': ['api/platform', 'shared'],
  'api/sync': ['api/domain', 'api/platform', 'shared'],
  'api/realtime': ['api/domain', 'api/platform', 'shared'],
  api: ['api/sync', 'api/realtime', 'api/domain', 'api/platform', 'shared'],
}

/** Folders whose subfolders must not import each other in a cycle. */
const acyclic = ['api', 'api/platform', 'api/domain']

const project = fileURLToPath(new URL('..', import.meta.url))

type Import = { readonly from: string; readonly to: string }

const imports: readonly Import[] = globSync('{api,shared}/**/*.ts', { cwd: project })
  .map((file) => file.replaceAll(sep, '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .flatMap((file) =>
    [...readFileSync(join(project, file), 'utf8').matchAll(/(?:\bfrom|\bimport\(?)\s*'([#.][^']+\.ts)'/g)].map(
      ([, name = '']) => ({ from: file, to: name.startsWith('#') ? name.slice(1) : join(dirname(file), name) }),
    ),
  )

const isIn = (folder: string, file: string): boolean => file.startsWith(`${folder}/`)

const layerOf = (file: string): string | undefined =>
  Object.keys(allowed)
    .filter((folder) => isIn(folder, file))
    .sort((a, b) => b.length - a.length)[0]

/** Returns a message for each import of a folder that the importing folder may not use. */
const forbiddenImports = (): string[] =>
  imports.flatMap(({ from, to }) => {
    const layer = layerOf(from)
    const target = layerOf(to) ?? to.split('/')[0] ?? ''
    if (layer === undefined || target === layer || allowed[layer]?.includes(target)) return []
    const names = allowed[layer]?.join(', ') || 'no other folder'
    return [`${from} imports ${to}. Files in ${layer} may import ${names}.`]
  })

/** Returns a message for each import that is part of a cycle between subfolders of a folder. */
const folderCycles = (folder: string): string[] => {
  const childOf = (file: string): string | undefined => {
    const [child, rest] = isIn(folder, file) ? file.slice(folder.length + 1).split('/') : []
    return rest === undefined ? undefined : child
  }
  const edges = imports.flatMap(({ from, to }) => {
    const [a, b] = [childOf(from), childOf(to)]
    return a === undefined || b === undefined || a === b ? [] : [{ a, b, text: `${from} imports ${to}` }]
  })
  const reachable = (start: string): Set<string> => {
    const seen = new Set<string>()
    const open = [start]
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const { a, b } of edges) {
        if (a !== at || seen.has(b)) continue
        seen.add(b)
        open.push(b)
      }
    }
    return seen
  }
  return edges
    .filter(({ a, b }) => reachable(b).has(a))
    .map(({ a, b, text }) => `${text}: ${folder}/${b} also leads back to ${folder}/${a}.`)
}

const faults = [...forbiddenImports(), ...acyclic.flatMap(folderCycles)]
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\n${faults.length} imports break the order of the folders.\n`)
  process.exitCode = 1
}
