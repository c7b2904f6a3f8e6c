import { Histogram, Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createHistogram } from './histogram.ts'

const described = { name: 'lag_seconds', help: 'Seconds of lag.', buckets: [0.001, 0.5, 10] }

test('exports the same series as the histogram of prom-client', async () => {
  const [ours, theirs] = [new Registry(), new Registry()]
  const observe = createHistogram(ours, described)
  const library = new Histogram({ ...described, registers: [theirs] })
  expect(await ours.metrics()).toBe(await theirs.metrics())
  for (const value of [0, 0.001, 0.0011, 0.5, 3, 10, 11, 400]) {
    observe(value)
    library.observe(value)
  }
  expect(await ours.metrics()).toBe(await theirs.metrics())
})
