import { runTests } from './testing/run.ts'
import { isStage } from './testing/suite.ts'

// `npm test [stage…] [filter…]`: the stages, by default lint, unit, integration and end-to-end tests. The last line counts.
const args = process.argv.slice(2)
const firstFilter = args.findIndex((arg) => !isStage(arg))
const stages = (firstFilter < 0 ? args : args.slice(0, firstFilter)).filter(isStage)
process.exit(
  await runTests(stages.length > 0 ? stages : ['lint', 'unit', 'integration', 'e2e'], args.slice(stages.length)),
)
