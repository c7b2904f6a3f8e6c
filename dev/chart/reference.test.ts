import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { withReference } from './reference.ts'
import { chartValues } from './values.ts'

const page = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')
const line = /^- `ORRERY_KEEP_ALIVE_MS.*\n/m

test('keeps the meaning of a variable, and corrects its default', () => {
  const changed = page.replace(line, '- `ORRERY_KEEP_ALIVE_MS=1`: another meaning\n')
  expect(withReference(changed, chartValues)).toContain('- `ORRERY_KEEP_ALIVE_MS=65000`: another meaning\n')
})

test('names a variable that the page does not explain', () => {
  expect(() => withReference(page.replace(line, ''), chartValues)).toThrow('ORRERY_KEEP_ALIVE_MS')
})

test('explains equal values of two groups once', () => {
  const reference = withReference(page, chartValues)
  expect(reference.match(/Labels that the node must have/g)).toHaveLength(1)
  expect(reference).toMatch(/`operator\.\*`: .*As in `api\.\*`: .*`nodeSelector`/)
})
