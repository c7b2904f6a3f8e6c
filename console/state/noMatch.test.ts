import { expect, test } from 'vitest'
import { explainNoMatch } from './noMatch.ts'
import { aRow } from './testing/row.ts'

const rows = [aRow({ labels: { team: 'events' } }), aRow({ labels: { team: 'ranked', mode: 'solo' }, phase: 'Error' })]

test.each([
  [
    'label:team=events label:team=ranked',
    'No world has both label:team=events and label:team=ranked. Write label:team=events,ranked for either.',
  ],
  [
    'lobby phase:Error phase:Active',
    'No world has both phase:Error and phase:Active. Write phase:Error,Active for either.',
  ],
  [
    'label:team=events,"a b" label:TEAM=ranked',
    'No world has both label:team=events,"a b" and label:TEAM=ranked. Write label:team=events,"team=a b",ranked for either.',
  ],
  ['label:taem=events', 'No world has the label taem.'],
  ['lobby label:taem', 'No world has the label taem.'],
  ['label:team=events nowhere', 'No world matches nowhere, even without the other words.'],
])('says why no world matches %j', (text, reason) => {
  expect(explainNoMatch(text, rows)).toEqual([reason])
})

test.each([
  'nowhere',
  'label:team=events phase:Error',
  'label:team=events -label:team=ranked phase:Error',
  'label:team=events,ranked label:team=ranked label:mode=duo,solo phase:Active',
  'label:team= label:team=events label:mode',
  'phase:Err phase:Error label:team=events',
])('says nothing about %j, of which it does not know why', (text) => {
  expect(explainNoMatch(text, rows)).toEqual([])
})
