import { fileURLToPath } from 'node:url'
import { runIsolated } from './isolate.ts'
import { prepare } from './prepare.ts'
import { runStages, type Stage } from './suite.ts'

const stagesProgram = fileURLToPath(new URL('stages.ts', import.meta.url))
/** The stages whose tests read from package registries. */
const withNetwork: readonly Stage[] = ['packaging', 'clients']

/**
 * Prepares what the stages need, then runs them in namespaces of their own, and returns the exit code. Stages that need the network
 * run without namespaces.
 */
export const runTests = async (stages: readonly Stage[], filters: readonly string[]): Promise<number> => {
  const say = (line: string): void => void process.stdout.write(`${line}\n`)
  if (!(await prepare(stages, say))) return 1
  return stages.some((stage) => withNetwork.includes(stage))
    ? runStages(stages, filters)
    : runIsolated([stagesProgram, stages.join(','), ...filters], say)
}
