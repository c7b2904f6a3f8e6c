import { isStage, runStages } from './suite.ts'

// `node dev/testing/stages.ts <stage,…> [filter…]`: the part of a test command that runs in namespaces.
const [names = '', ...filters] = process.argv.slice(2)
process.exit(await runStages(names.split(',').filter(isStage), filters))
