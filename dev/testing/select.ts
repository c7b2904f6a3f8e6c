import { existsSync } from 'node:fs'

/** Short integration tests that cover a folder, relative to `test/integration`. The first prefix that matches counts. */
const byFolder: readonly (readonly [prefix: string, files: readonly string[]])[] = [
  ['api/realtime/', ['realtime/messages', 'realtime/deletedScopes']],
  ['api/sync/', ['sync', 'worlds']],
  ['api/domain/', ['rest', 'openApi', 'contract/worlds']],
  ['api/', ['rest', 'openApi']],
  ['operator/', ['worlds', 'observability']],
  ['shared/', ['worlds', 'resources']],
  ['crds/', ['resources']],
  ['client/', ['realtime/client']],
]

/** Returns the tests with servers to run for the changed files: those that changed, and a few for each folder. */
export const selectIntegrationFiles = (
  changed: readonly string[],
  exists: (file: string) => boolean = existsSync,
): string[] => {
  const selected = changed.flatMap((file) => {
    if (/^test\/(faults|integration)\/.*\.test\.ts$/.test(file)) return [file]
    const [, files = []] = byFolder.find(([prefix]) => file.startsWith(prefix)) ?? []
    return files.map((name) => `test/integration/${name}.test.ts`)
  })
  return [...new Set(selected)].filter((file) => exists(file)).sort()
}
