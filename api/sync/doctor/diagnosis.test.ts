import { expect, test } from 'vitest'
import { type DiagnosedPod, type DiagnosedResource, type DiagnosedRow, diagnose, type Snapshot } from './diagnosis.ts'

const namespace = 'orrery-org-a'
const row: DiagnosedRow = {
  kind: 'world',
  id: 'wld-a',
  namespace,
  resourceName: 'wld-a',
  resourceUid: 'uid-a',
  revision: 3,
  spec: { displayName: 'Lobby', state: 'Running', revision: 3 },
  phase: 'Active',
  isDeleting: false,
  isRemoved: false,
  dirtySeconds: undefined,
  runRevision: 2,
}
const live: DiagnosedResource = {
  kind: 'world',
  namespace,
  name: 'wld-a',
  uid: 'uid-a',
  spec: row.spec,
  phase: 'Active',
  observedRevision: 3,
  isDeleting: false,
  hasMarks: true,
}
const pod: DiagnosedPod = { kind: 'world', namespace, name: 'wld-a', resourceName: 'wld-a', hasEnded: false }
const own = {
  name: namespace,
  organizationId: 'org-a',
  owner: 'living' as const,
  exists: true,
  isDeleting: false,
  faults: [],
}
const healthy: Snapshot = {
  rows: [row],
  resources: [live],
  pods: [pod],
  namespaces: [own],
  definitions: [],
  admission: [],
}
const textsOf = (changes: Partial<Snapshot>): string[] => diagnose({ ...healthy, ...changes }).map(({ text }) => text)

test('a healthy system has no differences', () => {
  expect(diagnose(healthy)).toEqual([])
})

test.each([
  { title: 'a pending push', rows: [{ ...row, dirtySeconds: 1, spec: {} }], expected: [] },
  { title: 'a slow push', rows: [{ ...row, dirtySeconds: 90 }], expected: [/pending for 90 s/] },
  { title: 'another uid', rows: [{ ...row, resourceUid: 'uid-b' }], expected: [/another uid/] },
  { title: 'another phase', rows: [{ ...row, phase: 'Starting' }], expected: [/REST shows phase Starting/] },
  { title: 'an older status', rows: [{ ...row, phase: 'Starting', runRevision: 4 }], expected: [] },
  { title: 'a deleted row', rows: [{ ...row, isDeleting: true }], expected: [/being deleted, and no push/] },
  { title: 'a removed row', rows: [{ ...row, isRemoved: true, isDeleting: true }], expected: [/deleted over REST/] },
  { title: 'no pod', pods: [], expected: [/has no pod/] },
  { title: 'unread pods', pods: undefined, expected: [] },
  { title: 'two servers', pods: [pod, { ...pod, name: 'other' }], expected: [/has 2 servers/] },
  {
    title: 'a row of another cluster',
    rows: [],
    resources: [{ ...live, rowCluster: 'us' }],
    expected: [/belongs to the cluster us/],
  },
  {
    title: 'a resource of a deleted organization',
    rows: [],
    resources: [{ ...live, hasMarks: false, isDeleting: true }],
    namespaces: [{ ...own, owner: 'deleted' as const, isDeleting: true }],
    expected: [/organization was deleted/],
  },
  {
    title: 'the pushed deletion of a world of a deleted organization',
    rows: [{ ...row, isDeleting: true, dirtySeconds: 1 }],
    namespaces: [{ ...own, owner: 'deleted' as const }],
    expected: [],
  },
  {
    title: 'a resource of an unknown organization',
    rows: [],
    namespaces: [{ ...own, owner: 'unknown' as const }],
    expected: [/^Its organization is not in the database. Run/, /^Its organization is not in the database. If/],
  },
  { title: 'a resource elsewhere', rows: [], namespaces: [], expected: [] },
  { title: 'an adopted resource to come', rows: [], resources: [{ ...live, hasMarks: false }], expected: [/Synced/] },
  {
    title: 'a changed policy of a namespace',
    namespaces: [{ ...own, faults: ['NetworkPolicy worlds has other rules'] }],
    expected: [/^Its NetworkPolicy worlds has other rules\.$/],
  },
  {
    title: 'a namespace that gets no host ports',
    namespaces: [{ ...own, hostPortProblem: 'has no binding' }],
    expected: [/^It gets no host ports: the admission policy orrery-host-ports has no binding\. Install/],
  },
  {
    title: 'a missing policy of host ports',
    admission: [{ kind: 'ValidatingAdmissionPolicy', name: 'orrery-host-ports', isMissing: true as const, fields: [] }],
    expected: [/^It is missing\. Without it, no organization gets host ports\. Install/],
  },
  {
    title: 'a changed admission policy',
    admission: [{ kind: 'ValidatingAdmissionPolicy', name: 'orrery-status', fields: ['/validations/0/expression'] }],
    expected: [/in spec\/validations\/0\/expression\. Install/],
  },
  {
    title: 'a missing policy of grants',
    admission: [{ kind: 'ValidatingAdmissionPolicy', name: 'orrery-run-fields', isMissing: true, fields: [] }],
    expected: [
      /^It is missing\. Without it, everyone who may write Worlds .* can grant runs \(spec\.granted\)\. Install/,
    ],
  },
  {
    title: 'a missing definition',
    definitions: [{ kind: 'CustomResourceDefinition', name: 'worlds.orrery.dev', isMissing: true, fields: [] }],
    expected: [/^It is missing\. Install/],
  },
  { title: 'a missing namespace', namespaces: [{ ...own, exists: false }], expected: [/It is missing/] },
])('$title leads to $expected', ({ title: _, expected, ...changes }) => {
  const texts = textsOf(changes)
  expect(texts).toHaveLength(expected.length)
  for (const [at, pattern] of expected.entries()) expect(texts[at]).toMatch(pattern)
})
