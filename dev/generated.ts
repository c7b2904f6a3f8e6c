import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('..', import.meta.url))

/**
 * Writes generated files, by their path in the project, and removes all others from the `folders`. With --check, it writes nothing and
 * fails if a file is outdated. `command` generates the files.
 */
export const writeGenerated = (
  command: string,
  files: Iterable<readonly [path: string, text: string]>,
  folders: readonly string[] = [],
): void => {
  const wanted = new Map(files)
  const present = globSync(
    folders.map((folder) => `${folder}/*`),
    { cwd: project },
  )
  const read = (path: string) => (existsSync(project + path) ? readFileSync(project + path, 'utf8') : undefined)
  const outdated = [...new Set([...wanted.keys(), ...present])].filter((path) => wanted.get(path) !== read(path))
  if (process.argv.includes('--check')) {
    if (outdated.length === 0) return
    console.error(`These files are outdated: ${outdated.join(', ')}. Run \`${command}\`.`)
    process.exitCode = 1
  } else {
    for (const path of outdated) {
      const text = wanted.get(path)
      mkdirSync(dirname(project + path), { recursive: true })
      if (text === undefined) rmSync(project + path)
      else writeFileSync(project + path, text)
    }
  }
}
