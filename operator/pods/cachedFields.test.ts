import { expect, test } from 'vitest'
import { pickCachedFields } from './cachedFields.ts'

const metadata = { name: 'a', uid: 'u', labels: { l: '1' }, finalizers: ['f'] }

test('keeps only the fields that the operator reads', () => {
  const state = { terminated: { exitCode: 1 } }
  const pod = {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata },
    spec: { nodeName: 'n', volumes: [{}], containers: [{ name: 'server', image: 'i', resources: {}, env: [{}] }] },
    status: {
      phase: 'Failed',
      podIP: 'ip',
      qosClass: 'Burstable',
      containerStatuses: [{ name: 'server', state, imageID: 'x' }],
    },
  }
  expect(pickCachedFields(pod)).toEqual({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata },
    spec: { nodeName: 'n', containers: [{ name: 'server', image: 'i', resources: {} }] },
    status: { phase: 'Failed', podIP: 'ip', containerStatuses: [{ name: 'server', state }] },
  })
})

test('keeps a pod without spec and status unchanged', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata }
  expect(pickCachedFields(pod)).toEqual(pod)
})
