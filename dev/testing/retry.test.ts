import { describe, expect, test } from 'vitest'
import { withDefined } from '#shared/optional.ts'
import { mergeRetries, selectRetries } from './retry.ts'
import type { TestResult } from './vitest.ts'

const createResult = (file: string | undefined, name: string, status: TestResult['status']): TestResult => ({
  name,
  status,
  durationMs: 1,
  stage: 'integration',
  ...withDefined({ file }),
})
const failures = (...files: string[]) => files.map((file) => createResult(file, 'a test', 'failed'))

describe('files to run again', () => {
  test('are the files with a failure, each once', () => {
    const results = [...failures('a', 'a', 'b'), createResult('c', 'a test', 'passed')]
    expect(selectRetries(results)).toEqual([
      { stage: 'integration', file: 'a' },
      { stage: 'integration', file: 'b' },
    ])
  })

  test('are none if more than three files failed', () => {
    expect(selectRetries(failures('a', 'b', 'c'))).toHaveLength(3)
    expect(selectRetries(failures('a', 'b', 'c', 'd'))).toEqual([])
  })

  test('are none if lint or a whole stage failed', () => {
    expect(selectRetries([...failures('a'), createResult(undefined, 'npm run lint', 'failed')])).toEqual([])
  })
})

describe('the results of files that ran again', () => {
  test('replace the first ones, and what passed only then is flaky', () => {
    const first = [...failures('a'), createResult('a', 'another', 'passed'), createResult('b', 'a test', 'passed')]
    const second = [createResult('a', 'a test', 'passed'), createResult('a', 'another', 'passed')]
    const { results, flaky } = mergeRetries(first, second)
    expect(results.map(({ file, status }) => `${file} ${status}`)).toEqual(['b passed', 'a passed', 'a passed'])
    expect(flaky).toEqual(failures('a'))
  })

  test('fail the run if a test fails again, or if another one of the file fails', () => {
    const again = mergeRetries(failures('a'), failures('a'))
    expect(again.flaky).toEqual([])
    expect(again.results).toEqual(failures('a'))
    const other = [createResult('a', 'a test', 'passed'), createResult('a', 'another', 'failed')]
    expect(mergeRetries(failures('a'), other).results).toEqual(other)
  })

  test('keep the first ones of a file without a second result', () => {
    expect(mergeRetries(failures('a'), [])).toEqual({ results: failures('a'), flaky: [] })
  })
})
