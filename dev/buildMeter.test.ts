import { expect, test } from 'vitest'
import { createBuildMeter } from './buildMeter.ts'

const names = (count: number, prefix = 'k8s.io/api/p'): string[] =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}`)

test('a build shows compiled packages of all, and the time left at the rate so far', () => {
  const packages = names(2_000)
  const meter = createBuildMeter(new Set(packages), 1_000)
  expect(meter.describe(1_000)).toBe('0 of 2,000 packages compiled')
  for (const name of packages.slice(0, 99)) meter.note(name)
  expect(meter.describe(11_000)).toBe('99 of 2,000 packages compiled')
  meter.note('k8s.io/api/p99')
  expect(meter.describe(11_000)).toBe('100 of 2,000 packages compiled, about 4 minutes left')
  for (const name of packages.slice(100, 1_500)) meter.note(name)
  expect(meter.describe(151_000)).toBe('1,500 of 2,000 packages compiled, about 50 s left')
  for (const name of packages) meter.note(name)
  expect(meter.describe(200_000)).toBe('2,000 of 2,000 packages compiled')
})

test('only packages that were to be compiled count, each once', () => {
  const meter = createBuildMeter(new Set(['fmt', 'k8s.io/api']), 0)
  expect(['fmt', 'fmt', '# k8s.io/api', 'a.go:1:1: undefined: x'].map(meter.note)).toEqual([true, true, false, false])
  expect(meter.describe(10_000)).toBe('1 of 2 packages compiled, about 10 s left')
})

test('a build without a package to compile is only linked', () => {
  expect(createBuildMeter(new Set(), 0).describe(10_000)).toBe('linking')
})
