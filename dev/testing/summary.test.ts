import { describe, expect, test } from 'vitest'
import { summarize } from './summary.ts'
import type { TestResult } from './vitest.ts'

const createResult = (
  name: string,
  status: TestResult['status'],
  { durationMs = 1, ...more }: Partial<TestResult> = {},
): TestResult => ({ name, status, durationMs, stage: 'unit', ...more })

describe('the summary of a test command', () => {
  test('ends with the counts', () => {
    const results = [createResult('a', 'passed'), createResult('b', 'failed'), createResult('c', 'passed')]
    expect(summarize(results).at(-1)).toBe('2 passed, 1 failed')
    const skipped = createResult('d', 'skipped')
    expect(summarize([...results, skipped], { notes: ['note'] }).at(-1)).toBe('2 passed, 1 failed, 1 skipped')
    expect(summarize([]).at(-1)).toBe('0 passed, 0 failed')
  })

  test('names failed and skipped tests with their files, the notes and the times of the stages', () => {
    const results = [
      createResult('b', 'failed', { file: 'b.test.ts', durationMs: 2_000 }),
      createResult('d', 'skipped'),
    ]
    const lines = summarize(results, { notes: ['a note'], times: [{ name: 'lint', durationMs: 20_000 }] })
    expect(lines).toEqual(
      expect.arrayContaining(['failed: b.test.ts > b (2.0 s)', 'skipped: d', 'a note', 'Stages: lint 20.0 s']),
    )
  })

  test('shows the first lines of the errors of a failed test', () => {
    const long = Array.from({ length: 200 }, (_, line) => `line ${line}`).join('\n')
    const lines = summarize([createResult('b', 'failed', { durationMs: 0, errors: [long, 'last'] })])
    expect(lines.slice(0, 3)).toEqual(['failed: b', '  line 0', '  line 1'])
    expect(lines.at(-2)).toBe('  last')
    expect(lines).toHaveLength(33)
  })

  test('shows the warnings of the servers of a file, and how to repeat it, once after its last failure', () => {
    const file = 'test/integration/x.test.ts'
    const results = ['a', 'b'].map((name) =>
      createResult(name, 'failed', { durationMs: 0, file, stage: 'integration' }),
    )
    expect(summarize(results, { warningsOf: (of) => [`warning in ${of}`] })).toEqual([
      `failed: ${file} > a`,
      `failed: ${file} > b`,
      `  warning in ${file}`,
      `  to repeat: npx vitest run --project integration ${file}`,
      '0 passed, 2 failed',
    ])
  })

  test('names flaky tests, which do not count as failed', () => {
    const flaky = [createResult('b', 'failed', { durationMs: 0, file: 'b.test.ts' })]
    const lines = summarize([createResult('b', 'passed', { durationMs: 0 })], { flaky })
    expect(lines[0]).toBe('FLAKY: b.test.ts > b')
    expect(lines.at(-1)).toBe('1 passed, 0 failed')
  })

  test('lists the ten slowest tests, the slowest first', () => {
    const results = Array.from({ length: 12 }, (_, index) =>
      createResult(`t${index}`, 'passed', { durationMs: index * 1_000 }),
    )
    const lines = summarize(results)
    expect(lines.slice(0, 3)).toEqual(['Slowest tests:', '   11.0 s  t11', '   10.0 s  t10'])
    expect(lines).toHaveLength(12)
  })
})
