import { expect, test } from 'vitest'
import { pickCachedFields } from './cachedFields.ts'

const owner = { apiVersion: 'orrery.dev/v1alpha1', kind: 'World', name: 'a', uid: 'w', controller: true }
const metadata = {
  name: 'a',
  uid: 'u',
  labels: { 'orrery.dev/run': 'r', 'app.kubernetes.io/component': 'world' },
  annotations: { 'orrery.dev/run-digest': 'd' },
  ownerReferences: [owner],
  finalizers: ['f'],
}
const readyCondition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' }
const limits = { cpu: '1', memory: '4Gi' }

test('keeps only the fields that the operator reads', () => {
  const state = { terminated: { exitCode: 1 } }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...metadata,
      generation: 1,
      labels: { ...metadata.labels, 'app.kubernetes.io/name': 'world-server' },
      annotations: { ...metadata.annotations, 'mesh.example/injected': 'x' },
      ownerReferences: [{ ...owner, blockOwnerDeletion: true }],
    },
    spec: {
      nodeName: 'n',
      volumes: [{}],
      containers: [
        {
          name: 'server',
          image: 'i',
          resources: { limits: { ...limits, 'ephemeral-storage': '1Gi' }, requests: {} },
          env: [{}],
          ports: [
            { name: 'public-1-udp', containerPort: 1, protocol: 'UDP', hostPort: 7000 },
            { name: 'health', containerPort: 8080 },
          ],
        },
        { name: 'mesh', image: 'm' },
      ],
    },
    status: {
      phase: 'Failed',
      podIP: 'ip',
      qosClass: 'Burstable',
      conditions: [
        { type: 'Initialized', status: 'True' },
        { ...readyCondition, lastProbeTime: null },
      ],
      containerStatuses: [{ name: 'server', state, imageID: 'x' }],
    },
  }
  expect(pickCachedFields(pod)).toEqual({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata,
    spec: {
      nodeName: 'n',
      containers: [
        { name: 'server', image: 'i', resources: { limits }, ports: [{ name: 'public-1-udp', hostPort: 7000 }] },
        { name: 'mesh', image: 'm' },
      ],
    },
    status: {
      phase: 'Failed',
      podIP: 'ip',
      conditions: [readyCondition],
      containerStatuses: [{ name: 'server', state }],
    },
  })
})

test('keeps a pod without spec and status unchanged', () => {
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata }
  expect(pickCachedFields(pod)).toEqual(pod)
})
