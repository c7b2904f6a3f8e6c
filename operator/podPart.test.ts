import { expect, test } from 'vitest'
import { podPart } from './podPart.ts'

const metadata = { name: 'a', uid: 'u', labels: { l: '1' }, finalizers: ['f'] }

test('of a pod only what is read is kept', () => {
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
  expect(podPart(pod)).toEqual({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata },
    spec: { nodeName: 'n', containers: [{ name: 'server', image: 'i', resources: {} }] },
    status: { phase: 'Failed', podIP: 'ip', containerStatuses: [{ name: 'server', state }] },
  })
})

test('a pod of which nothing is known yet stays as it is', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata }
  expect(podPart(pod)).toEqual(pod)
})
