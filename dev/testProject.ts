import { finish, installNotes, runProject } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'

// `npm run test:e2e`, `test:faults` and `test:packaging`, with filters: the tests of one project. The last line counts.
const [project = '', ...args] = process.argv.slice(2)
const results = runProject(project, args)
finish(results, summarize(results, installNotes(results)))
