import type { Results, TestResult } from './vitest.ts'

/** The most failed files that are run again. More failures than this are not a coincidence. */
export const maxRetriedFiles = 3

/** A test file and its stage. */
export type TestFile = { readonly stage: string; readonly file: string }

/**
 * Returns the failed files to run once more: none if more than three failed, or if something failed that is not a test, such as
 * lint.
 */
export const selectRetries = (results: Results): readonly TestFile[] => {
  const failed = results.filter(({ status }) => status === 'failed')
  if (failed.some(({ file }) => file === undefined)) return []
  const files = new Map(failed.map(({ stage, file = '' }) => [keyOf({ stage, file }), { stage, file }]))
  return files.size <= maxRetriedFiles ? [...files.values()] : []
}

/** Replaces the results of the files that were run again. `flaky` has the tests that failed first and passed then. */
export const mergeRetries = (
  first: Results,
  second: Results,
): { readonly results: Results; readonly flaky: Results } => {
  const retried = new Set(second.map(keyOf))
  const failedAgain = new Set(second.filter(isFailed).map((result) => `${keyOf(result)} ${result.name}`))
  return {
    results: [...first.filter((result) => !retried.has(keyOf(result))), ...second],
    flaky: first.filter(
      (result) => isFailed(result) && retried.has(keyOf(result)) && !failedAgain.has(`${keyOf(result)} ${result.name}`),
    ),
  }
}

const isFailed = ({ status }: TestResult): boolean => status === 'failed'

const keyOf = ({ stage, file }: { stage: string; file?: string }): string => `${stage} ${file ?? ''}`
