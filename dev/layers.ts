import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drawImports, findImportFaults } from './importOrder.ts'

// Part of `npm run lint`: fails if an import breaks the order of the folders or a law, type imports included, and if the picture in
// ARCHITECTURE.md is outdated. `npm run layers` draws it again.

const project = fileURLToPath(new URL('..', import.meta.url))

const sources = globSync('{api,client,console,operator,shared}/**/*.{ts,tsx}', { cwd: project })
  .map((file) => file.replaceAll(sep, '/'))
  .map((file) => ({ file, text: readFileSync(join(project, file), 'utf8') }))

const page = join(project, 'ARCHITECTURE.md')
const before = readFileSync(page, 'utf8')
const picture = `others:\n\n\`\`\`\n${drawImports('api/domain', sources)}\n\`\`\`\n`
const after = before.replace(/others:\n\n```\n[^`]*```\n/, picture)
if (process.argv.includes('--write')) writeFileSync(page, after)
else {
  const isCurrent = before === after && before.includes(picture)
  const faults = [
    ...findImportFaults(sources),
    ...(isCurrent ? [] : ['ARCHITECTURE.md shows other imports of domain. Run npm run layers.']),
  ]
  if (faults.length > 0) {
    process.stderr.write(`${faults.join('\n')}\n${faults.length} faults in the imports\n`)
    process.exitCode = 1
  }
}
