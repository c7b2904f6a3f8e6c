import { expect, test } from 'vitest'
import { withDefined } from '#shared/optional.ts'
import { decideCause } from './deletionCause.ts'

const deletedAt = '2026-01-01T00:00:10Z'
const container = (deletionTimestamp?: string) => ({
  title: 'The namespace n',
  metadata: withDefined({ name: 'n', deletionTimestamp }),
})

test('a deletion in a live namespace is meant', () => {
  expect(decideCause(deletedAt, [container()])).toEqual({ isIntended: true })
})

test.each([
  ['before', '2026-01-01T00:00:09Z'],
  ['with', '2026-01-01T00:00:10Z'],
  ['one second after', '2026-01-01T00:00:11Z'],
])('a namespace that terminates %s its resource takes it with it', (_, end) => {
  expect(decideCause(deletedAt, [container(end)])).toEqual({
    isIntended: false,
    reason: 'The namespace n is terminating',
  })
})

test('a deletion more than a second before the end of the namespace is meant', () => {
  expect(decideCause(deletedAt, [container(), container('2026-01-01T00:00:12Z')])).toEqual({ isIntended: true })
})

test('a missing namespace takes its resources with it', () => {
  expect(decideCause(deletedAt, [{ title: 'The namespace n', metadata: undefined }])).toEqual({
    isIntended: false,
    reason: 'The namespace n is missing',
  })
})
