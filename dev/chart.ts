import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { withLimits } from './chart/limits.ts'
import { admissionManifests, manifestTemplates } from './chart/manifests.ts'
import { dashboardJson, dashboards, ruleGroups } from './chart/monitoring.ts'
import { withReference } from './chart/reference.ts'
import { renderSchema, renderValues } from './chart/render.ts'
import { chartValues } from './chart/values.ts'

// `npm run chart` writes the generated files of charts/orrery, docs/configuration.md, the table of docs/limits.md and the policies that
// `orrery doctor` compares; with --check it writes nothing and fails where a file is outdated.
const project = fileURLToPath(new URL('..', import.meta.url))
const templates = 'charts/orrery/templates'
const generatedFolders = ['crds', 'rbac', 'admission']

const wanted = new Map([
  ['charts/orrery/values.yaml', renderValues(chartValues)],
  ['charts/orrery/values.schema.json', renderSchema(chartValues)],
  ['docs/configuration.md', withReference(readFileSync(`${project}docs/configuration.md`, 'utf8'), chartValues)],
  ['docs/limits.md', withLimits(readFileSync(`${project}docs/limits.md`, 'utf8'))],
  ['api/sync/doctor/admissionPolicies.json', `${JSON.stringify(admissionManifests(), null, 1)}\n`],
  ['charts/orrery/files/rules.yaml', stringify({ groups: ruleGroups() }, { lineWidth: 0 })],
  ...Object.entries(dashboards).map(
    ([name, panels]) =>
      [
        `charts/orrery/files/dashboard-${name}.json`,
        `${JSON.stringify(dashboardJson(name, panels), null, 1)}\n`,
      ] as const,
  ),
  ...[...manifestTemplates()].map(([path, text]) => [`${templates}/${path}`, text] as const),
])

const present = (folder: string): string[] => {
  try {
    return readdirSync(`${project}${templates}/${folder}`).map((file) => `${templates}/${folder}/${file}`)
  } catch {
    return []
  }
}

const read = (file: string): string | undefined => {
  try {
    return readFileSync(`${project}${file}`, 'utf8')
  } catch {
    return undefined
  }
}

const outdated = [...new Set([...wanted.keys(), ...generatedFolders.flatMap(present)])].filter(
  (file) => wanted.get(file) !== read(file),
)
if (process.argv.includes('--check')) {
  if (outdated.length > 0) {
    console.error(`These files are outdated: ${outdated.join(', ')}. Run \`npm run chart\`.`)
    process.exitCode = 1
  }
} else {
  for (const file of outdated) {
    const text = wanted.get(file)
    mkdirSync(dirname(`${project}${file}`), { recursive: true })
    if (text === undefined) rmSync(`${project}${file}`)
    else writeFileSync(`${project}${file}`, text)
  }
}
