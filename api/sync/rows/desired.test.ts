import { expect, test } from 'vitest'
import { traceparentAnnotation } from '#shared/resources/group.ts'
import { type Desired, withTraceparent } from './desired.ts'

const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const earlier = '00-1bf7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const desiredAt = (revision: number): Desired<{ revision: number }> => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: 'a', namespace: 'b', labels: {}, finalizers: [] },
  spec: { revision },
})
const liveAt = (revision: number, annotation?: string) => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind: 'World',
  metadata: { name: 'a', ...(annotation !== undefined && { annotations: { [traceparentAnnotation]: annotation } }) },
  spec: { revision },
})

test.each([
  ['a new resource gets the trace', undefined, trace, trace],
  ['a new revision gets the trace', liveAt(1), trace, trace],
  ['a new revision replaces an earlier trace', liveAt(1, earlier), trace, trace],
  ['a new revision without a trace clears an earlier one', liveAt(1, earlier), undefined, ''],
  ['the same revision keeps its trace', liveAt(2, earlier), trace, earlier],
  ['the same revision gets no annotation', liveAt(2), trace, undefined],
  ['nothing is written without traces', liveAt(1), undefined, undefined],
])('%s', (_, live, traceparent, expected) => {
  const { annotations } = withTraceparent(desiredAt(2), live, traceparent).metadata
  expect(annotations?.[traceparentAnnotation]).toBe(expected)
})
