import { finish, installNotes, runSuite } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'

// `npm test [filter…]`: lint, unit tests and integration tests. The last line counts.
const results = runSuite(process.argv.slice(2))
finish(results, summarize(results, installNotes(results)))
