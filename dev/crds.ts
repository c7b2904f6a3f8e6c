import { stringify } from 'yaml'
import { customResourceDefinitions } from '#shared/resources/crds.ts'
import { writeGenerated } from './generated.ts'

// `npm run crds` writes crds/.
const header = '# Generated from shared/resources by `npm run crds`; change the schemas there.\n'
const definitions = Object.entries(customResourceDefinitions())
writeGenerated(
  'npm run crds',
  definitions.map(([file, definition]) => [`crds/${file}`, header + stringify(definition, { lineWidth: 0 })]),
  ['crds'],
)
