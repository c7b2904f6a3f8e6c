import { runTests } from './testing/run.ts'
import { isStage } from './testing/suite.ts'

// `npm run test:e2e`, `test:faults`, `test:packaging` and `test:timing`, with filters: one stage. The last line counts.
const [stage = '', ...filters] = process.argv.slice(2)
if (!isStage(stage)) throw new Error(`"${stage}" is not a stage of the tests.`)
process.exit(await runTests([stage], filters))
