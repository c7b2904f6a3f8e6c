import { describe, expect, test } from 'vitest'
import { summarize } from './summary.ts'
import type { TestResult } from './vitest.ts'

const createResult = (name: string, status: TestResult['status'], durationMs = 1): TestResult => ({
  name,
  status,
  durationMs,
})

describe('the summary of a test command', () => {
  test('ends with the counts', () => {
    const results = [createResult('a', 'passed'), createResult('b', 'failed'), createResult('c', 'passed')]
    expect(summarize(results).at(-1)).toBe('2 passed, 1 failed')
    expect(summarize([...results, createResult('d', 'skipped')], ['note']).at(-1)).toBe('2 passed, 1 failed, 1 skipped')
    expect(summarize([]).at(-1)).toBe('0 passed, 0 failed')
  })

  test('names failed and skipped tests and the notes', () => {
    const lines = summarize([createResult('b', 'failed'), createResult('d', 'skipped')], ['not run: soak'])
    expect(lines).toEqual(expect.arrayContaining(['failed: b', 'skipped: d', 'not run: soak']))
  })

  test('shows the first lines of the errors of a failed test', () => {
    const long = Array.from({ length: 200 }, (_, line) => `line ${line}`).join('\n')
    const lines = summarize([{ ...createResult('b', 'failed', 0), errors: [long, 'last'] }])
    expect(lines.slice(0, 3)).toEqual(['failed: b', '  line 0', '  line 1'])
    expect(lines.at(-2)).toBe('  last')
    expect(lines).toHaveLength(33)
  })

  test('lists the ten slowest tests, the slowest first', () => {
    const results = Array.from({ length: 12 }, (_, index) => createResult(`t${index}`, 'passed', index * 1_000))
    const lines = summarize(results)
    expect(lines.slice(0, 3)).toEqual(['Slowest tests:', '   11.0 s  t11', '   10.0 s  t10'])
    expect(lines).toHaveLength(12)
  })
})
