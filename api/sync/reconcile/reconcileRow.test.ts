import { expect, test } from 'vitest'
import { findNeeds } from './reconcileRow.ts'

const row = {
  ...{ id: 'wld-1', revision: 2, refusal: null, deletingAt: null, targetCluster: null },
  ...{ resourceUid: 'old', resourceName: 'wld-1', applied: { revision: 2 } },
}
const adopted = { ...row, resourceName: 'lobby', applied: {} }
const metadata = { name: 'wld-1', uid: 'uid' }
const live = { metadata, spec: { revision: 2 } }
const going = { ...live, metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }
const refused = { revision: 2, message: '', generation: 1, putBackAtMs: [], isLeft: true }
const known = { identity: 'own', facts: undefined, hasBase: true, hasEdits: false } as const
const read = { ...known, facts: {} }

test.each<[string, Parameters<typeof findNeeds>, ReturnType<typeof findNeeds>]>([
  ['a new status needs nothing', [row, live, known], undefined],
  ['an edit needs its author', [row, live, { ...known, hasEdits: true }], {}],
  [
    'an edit after a refused one needs no author before it is allowed',
    [{ ...row, refusal: refused }, live, { ...known, hasEdits: true }],
    undefined,
  ],
  ['a push that was not recorded needs the managed fields', [row, live, { ...known, hasBase: false }], {}],
  ['a revision ahead of the row needs the managed fields', [row, { ...live, spec: { revision: 3 } }, known], {}],
  ['what was read is not read again', [row, { ...live, spec: { revision: 3 } }, read], undefined],
  ['a deletion needs its cause', [row, going, read], { cause: true }],
  ['a deletion that the row knows needs no cause', [{ ...row, deletingAt: new Date(0) }, going, known], undefined],
  ['a deletion by a move needs no cause', [{ ...row, targetCluster: 'other' }, going, known], undefined],
  [
    'a resource with another uid needs proof that the recorded one is gone',
    [row, live, { ...known, identity: 'successor' }],
    { replacedUid: 'old' },
  ],
  [
    'one that is also deleted needs both at once',
    [row, going, { ...known, identity: 'successor' }],
    { cause: true, replacedUid: 'old' },
  ],
  [
    'one that replaces a resource without a finalizer is new, and needs to know of a rival',
    [adopted, live, { ...known, identity: 'successor' }],
    { replacedUid: 'old', rival: true },
  ],
])('%s', (_, args, needs) => {
  expect(findNeeds(...args)).toEqual(needs)
})
