import { finish, installNotes, runProject, runSuite } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'

// `npm test [filter…]`: lint, unit, integration and end-to-end tests. The last line counts.
const filters = process.argv.slice(2)
const results = [...runSuite(filters), ...runProject('e2e', filters)]
finish(results, summarize(results, installNotes(results)))
