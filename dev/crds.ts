import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { customResourceDefinitions } from '#shared/resources/crds.ts'

// `npm run crds` writes crds/. With --check, it writes nothing and fails if a file is outdated.
const folder = new URL('../crds/', import.meta.url)
const check = process.argv.includes('--check')
const header = '# Generated from shared/resources by `npm run crds`; change the schemas there.\n'
mkdirSync(folder, { recursive: true })

const wanted = new Map(
  Object.entries(customResourceDefinitions()).map(([file, definition]) => [
    file,
    header + stringify(definition, { lineWidth: 0 }),
  ]),
)
const drifted = [...new Set([...wanted.keys(), ...readdirSync(folder)])].filter(
  (file) => wanted.get(file) !== read(new URL(file, folder)),
)

function read(file: URL): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

if (check && drifted.length > 0) {
  console.error(`crds/ is not what the schemas in shared/resources give: ${drifted.join(', ')}. Run \`npm run crds\`.`)
  process.exitCode = 1
}
if (!check) for (const [file, text] of wanted) writeFileSync(new URL(file, folder), text)
