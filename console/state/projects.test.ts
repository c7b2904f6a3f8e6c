import { expect, test } from 'vitest'
import { countByProject } from './projects.ts'
import { aRow } from './testing/row.ts'

test('worlds are counted by project and phase', () => {
  const rows = [
    aRow({ projectId: 'a', phase: 'Active' }),
    aRow({ projectId: 'b', phase: 'Error' }),
    aRow({ projectId: 'a', phase: 'Active' }),
  ]
  const none = { Error: 0, Starting: 0, Active: 0, Inactive: 0, Stopped: 0 }
  expect(Object.fromEntries(countByProject(rows))).toEqual({ a: { ...none, Active: 2 }, b: { ...none, Error: 1 } })
})
