import { globSync, readFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findOrderFaults } from './importOrder.ts'

// Part of `npm run lint`: fails if an import breaks the order of the folders, type imports included.

const project = fileURLToPath(new URL('..', import.meta.url))

const sources = globSync('{api,shared}/**/*.ts', { cwd: project })
  .map((file) => file.replaceAll(sep, '/'))
  .filter((file) => !file.endsWith('.test.ts'))
  .map((file) => ({ file, text: readFileSync(join(project, file), 'utf8') }))

const faults = findOrderFaults(sources)
if (faults.length > 0) {
  process.stderr.write(`${faults.join('\n')}\nThe imports break the order of the folders in ${faults.length} places.\n`)
  process.exitCode = 1
}
