import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { withLimits } from './chart/limits.ts'
import { admissionManifests, manifestTemplates } from './chart/manifests.ts'
import { dashboardJson, dashboards, ruleGroups } from './chart/monitoring.ts'
import { withReference } from './chart/reference.ts'
import { renderSchema, renderValues } from './chart/render.ts'
import { chartValues } from './chart/values.ts'
import { writeGenerated } from './generated.ts'

// `npm run chart` writes the generated files of charts/orrery, docs/configuration.md, the table of docs/limits.md and the policies that
// `orrery doctor` compares.
const project = fileURLToPath(new URL('..', import.meta.url))
const templates = 'charts/orrery/templates'
const files: (readonly [string, string])[] = [
  ['charts/orrery/values.yaml', renderValues(chartValues)],
  ['charts/orrery/values.schema.json', renderSchema(chartValues)],
  ['docs/configuration.md', withReference(readFileSync(`${project}docs/configuration.md`, 'utf8'), chartValues)],
  ['docs/limits.md', withLimits(readFileSync(`${project}docs/limits.md`, 'utf8'))],
  ['api/sync/doctor/admissionPolicies.json', `${JSON.stringify(admissionManifests(), null, 1)}\n`],
  ['charts/orrery/files/rules.yaml', stringify({ groups: ruleGroups() }, { lineWidth: 0 })],
  ...Object.entries(dashboards).map(([name, panels]): [string, string] => [
    `charts/orrery/files/dashboard-${name}.json`,
    `${JSON.stringify(dashboardJson(name, panels), null, 1)}\n`,
  ]),
  ...[...manifestTemplates()].map(([path, text]): [string, string] => [`${templates}/${path}`, text]),
]
writeGenerated(
  'npm run chart',
  files,
  ['crds', 'rbac', 'admission'].map((folder) => `${templates}/${folder}`),
)
