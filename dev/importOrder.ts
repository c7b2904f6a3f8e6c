import { dirname, join, matchesGlob } from 'node:path/posix'

/** The other folders that the files of a folder may import, tests apart. The longest path that fits a file counts. */
const allowed: Record<string, readonly string[]> = {
  shared: [],
  'api/platform': ['shared'],
  'api/domain': ['api/platform', 'shared'],
  'api/sync': ['api/sync/merge', 'api/domain', 'api/platform', 'shared'],
  // It decides without I/O, so it has no use for the database.
  'api/sync/merge': ['api/sync', 'api/domain', 'shared'],
  'api/realtime': ['api/domain', 'api/platform', 'shared'],
  api: ['api/sync', 'api/realtime', 'api/domain', 'api/platform', 'shared'],
  'operator/pods': ['shared'],
  'operator/lifecycle': ['operator/pods', 'shared'],
  'operator/logs': ['operator/lifecycle', 'operator/pods', 'shared'],
  'operator/bots': ['operator/lifecycle', 'operator/logs', 'operator/pods', 'shared'],
  'operator/world': ['operator/lifecycle', 'operator/logs', 'operator/pods', 'shared'],
  operator: ['operator/bots', 'operator/world', 'operator/lifecycle', 'operator/logs', 'operator/pods', 'shared'],
  client: [],
  'console/state': ['client', 'shared'],
  'console/live': ['console/state', 'client', 'shared'],
  'console/parts': ['console/live', 'console/state', 'client', 'shared'],
  console: ['console/parts', 'console/live', 'console/state', 'client', 'shared'],
}

/** A law in addition to the order. The patterns are those of `path.matchesGlob`; one that begins with `!` excludes files. */
type Law = {
  /** The files that the law holds for. */
  readonly of: readonly string[]
  /** The files and packages that they must not import. */
  readonly forbids: readonly string[]
  readonly why: string
}

const noTests = ['!**/*.test.ts', '!**/testing/**'] as const

/** The laws in addition to the order. */
export const laws: readonly Law[] = [
  {
    of: ['shared/**/*.test.ts'],
    forbids: ['{api,operator,dev,test}/**', '!test/support/{fakeClock,fastCheck,timing}.ts'],
    why: 'Tests in shared run without both processes.',
  },
  {
    of: ['shared/kube/**', ...noTests],
    forbids: ['shared/**', '!shared/kube/**', '!shared/{clock,counts,fairQueue,optional}.ts'],
    why: 'The kube kit knows no word of the product.',
  },
  {
    of: ['client/**', ...noTests],
    forbids: ['*', 'node:**', '!bs58'],
    why: 'The client runs wherever fetch does. Its only package is bs58, for the handshake of realtime.',
  },
  {
    of: ['console/**/*.test.ts'],
    forbids: ['{api,operator,dev,test}/**', '!test/support/fastCheck.ts'],
    why: 'Tests of the console run without both processes.',
  },
  {
    of: ['console/**', ...noTests],
    forbids: ['shared/**', '!shared/why/**', '!shared/domain/permissions.ts', 'node:*'],
    why: 'The console runs in browsers.',
  },
  {
    of: ['shared/why/**', ...noTests],
    forbids: ['*', 'node:*', 'shared/**', '!shared/why/**', '!shared/enumerations.ts'],
    why: 'The console has it in browsers.',
  },
  {
    of: ['console/state/**', ...noTests],
    forbids: ['client/client.ts', 'client/realtime.ts', 'preact', 'preact/**', '@preact/**'],
    why: 'The state decides without the DOM, the network and a clock. Use types of the client only.',
  },
  {
    of: ['operator/{world,bots,lifecycle}/*.ts', 'operator/pods/**', ...noTests],
    forbids: [
      'node:*',
      '!node:util',
      'undici',
      'operator/**/execute/**',
      'shared/kube/{client,reflector,transport}.ts',
    ],
    why: 'Code that decides does no I/O. Only the execute folders do.',
  },
  {
    of: [
      'api/**/{conditions,endpoints,eventDrafts,examples,idle,message,order,outcome,patch,place,present,query,schema,size,startRules,transitions}.ts',
      'api/domain/{access,endpoint}/**',
      '!api/domain/access/context.ts',
      'api/realtime/**',
      '!api/realtime/{reads,table}.ts',
      'api/platform/{auth,fairness,http,logs,objects,secrets,webhooks}/**',
      ...noTests,
    ],
    forbids: ['api/platform/database/**', '!api/platform/database/columns.ts', 'drizzle-orm', 'drizzle-orm/**', 'pg'],
    why: 'These files do not query. Move the query to a file beside them.',
  },
]

/** The folders whose subfolders must not import each other in a cycle. */
const acyclic = ['api/platform', 'api/domain', 'api/sync']

/** A source file: its path relative to the root of the project, with slashes, and its text. */
export type Source = { readonly file: string; readonly text: string }

/** A source file, and a file or a package that it imports. Paths are relative to the root of the project. */
type Import = { readonly from: string; readonly to: string }

/**
 * Returns a message for each import against the order of the folders or a law, type imports included, and for each cycle of
 * folders.
 */
export const findImportFaults = (sources: readonly Source[]): string[] => {
  const imports = sources.flatMap(importsOf)
  const ofFiles = imports.filter(isOfProduct)
  return [
    ...forbiddenImports(ofFiles),
    ...laws.flatMap((law) => brokenImports(law, imports)),
    ...acyclic.flatMap((folder) => folderCycles(folder, ofFiles)),
  ]
}

const isOfProduct = ({ from, to }: Import): boolean => fits(['**', ...noTests], from) && /\.tsx?$/.test(to)

const importsOf = ({ file, text }: Source): Import[] =>
  [...text.matchAll(/(?:\bfrom|\bimport\(?)\s*'([^']+)'/g)].map(([, name = '']) => ({
    from: file,
    to: resolve(file, name),
  }))

const resolve = (file: string, name: string): string => {
  if (name.startsWith('#')) return name.slice(1)
  return name.startsWith('.') ? join(dirname(file), name) : name
}

const fits = (patterns: readonly string[], path: string): boolean =>
  patterns.reduce(
    (found, pattern) =>
      pattern.startsWith('!') ? found && !matchesGlob(path, pattern.slice(1)) : found || matchesGlob(path, pattern),
    false,
  )

/** Returns a message for each import that a law forbids. */
const brokenImports = ({ of, forbids, why }: Law, imports: readonly Import[]): string[] =>
  imports
    .filter(({ from, to }) => fits(of, from) && fits(forbids, to))
    .map(({ from, to }) => `${from} imports ${to}. ${why}`)

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
    const [child] = isIn(folder, file) ? file.slice(folder.length + 1).split('/') : []
    return child?.replace(/\.ts$/, '')
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

/**
 * Returns the imports between the subfolders of a folder as lines of text, `a, b ─► c, d`. An import that follows from others is left
 * out.
 */
export const drawImports = (folder: string, sources: readonly Source[]): string => {
  const edges = importsBetween(folder, sources.flatMap(importsOf).filter(isOfProduct))
  const targetsOf = (from: string): string[] => [...(edges.get(from)?.keys() ?? [])]
  const reach = (from: string): string[] => [...new Set(targetsOf(from).flatMap((to) => [to, ...reach(to)]))]
  const lines = new Map<string, string[]>()
  for (const from of [...edges.keys()].sort()) {
    const direct = targetsOf(from).filter((to) => !targetsOf(from).some((other) => reach(other).includes(to)))
    const targets = direct.sort().join(', ')
    lines.set(targets, [...(lines.get(targets) ?? []), from])
  }
  return [...lines].map(([targets, froms]) => ` ${froms.join(', ')} ─► ${targets}`).join('\n')
}
