import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest. Started first, they do not leave one worker busy after the others have finished. */
const longest = [
  'clusters',
  'worldFaults',
  'recovery',
  'outages',
  'versions',
  'routes',
  'credentials',
  'hostileInput',
  'sync',
  'foreign',
  'logs',
  'startup',
  'roles',
  'doctor',
  'bots',
].map((name) => `/${name}.test.ts`)

/** Runs the longest files with servers first, and otherwise keeps vitest's order. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId }: TestSpecification): number => {
      const index = longest.findIndex(
        (name) => moduleId.endsWith(name) && /\/test\/(faults|integration)\//.test(moduleId),
      )
      return index === -1 ? longest.length : index
    }
    return sorted.sort((a, b) => rank(a) - rank(b))
  }
}
