import { runTests } from './testing/run.ts'

// `npm test [filter…]`: lint, unit, integration and end-to-end tests. The last line counts.
process.exit(await runTests(['lint', 'unit', 'integration', 'e2e'], process.argv.slice(2)))
