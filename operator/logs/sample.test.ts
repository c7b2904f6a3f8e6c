import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { withDefined } from '#shared/optional.ts'
import { toSample } from './sample.ts'

const podOf = (more: { limits?: Record<string, string>; startedAt?: string } = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'w', namespace: 'a', uid: 'pod-1', creationTimestamp: '2026-11-21T08:00:00Z' },
  spec: { containers: [{ name: 'server', resources: withDefined({ limits: more.limits }) }] },
  ...(more.startedAt && {
    status: { containerStatuses: [{ name: 'server', state: { running: { startedAt: more.startedAt } } }] },
  }),
})
const usage = { cpu: '421123456n', memory: '1572864Ki' }
/** Answers as metrics-server 0.8 does. */
const answer = (more: object = {}) => ({
  kind: 'PodMetrics',
  apiVersion: 'metrics.k8s.io/v1beta1',
  metadata: { name: 'w', namespace: 'a', creationTimestamp: '2026-11-21T08:01:00Z' },
  timestamp: '2026-11-21T08:00:50Z',
  window: '15.123s',
  containers: [
    { name: 'sidecar', usage: { cpu: '1', memory: '9Gi' } },
    { name: 'server', usage },
  ],
  ...more,
})
const read = (pod: Pod, given: object = {}) => toSample({ pod, role: 'server' }, answer(given))

test('a sample has the use of the container of the server alone, with its limits', () => {
  expect(read(podOf({ limits: { cpu: '2500m', memory: '4Gi' } }))).toEqual({
    podUid: 'pod-1',
    sampledAt: '2026-11-21T08:00:50.000Z',
    windowSeconds: 15.123,
    cpuMillicores: 421.123,
    cpuLimitMillicores: 2_500,
    memoryBytes: 1_610_612_736,
    memoryLimitBytes: 4_294_967_296,
  })
  expect(Object.keys(read(podOf()) ?? {})).not.toContain('cpuLimitMillicores')
})

test.each([
  ['0', '0', 0, 0],
  ['1500u', '128974848', 1.5, 128_974_848],
  ['250m', '129M', 250, 129_000_000],
  ['2', '1Gi', 2_000, 2 ** 30],
])('the quantities %s and %s are read', (cpu, memory, cpuMillicores, memoryBytes) => {
  const containers = [{ name: 'server', usage: { cpu, memory } }]
  expect(read(podOf(), { containers })).toMatchObject({ cpuMillicores, memoryBytes })
})

test('a limit that cannot be read is left out', () => {
  expect(read(podOf({ limits: { cpu: '1e1', memory: '1Gb' } }))).toMatchObject({ cpuLimitMillicores: 10_000 })
  expect(read(podOf({ limits: { memory: '1Gb' } }))).not.toHaveProperty('memoryLimitBytes')
})

test.each([
  ['30s', 30],
  ['1m2.5s', 62.5],
  ['500ms', 0.5],
  ['1h0m0s', 3_600],
])('the window %s is read', (window, windowSeconds) => {
  expect(read(podOf(), { window })?.windowSeconds).toBe(windowSeconds)
})

test.each([
  ['older than the pod', {}, { timestamp: '2026-11-21T07:59:59Z' }],
  ['older than the container', { startedAt: '2026-11-21T08:00:51Z' }, {}],
  ['of other containers', {}, { containers: [{ name: 'bot', usage }] }],
])('a sample %s is none', (_, pod, given) => {
  expect(read(podOf(pod), given)).toBeUndefined()
})

test.each([
  ['no object', null],
  ['another kind', { kind: 'Status', status: 'Success' }],
  ['a quantity that is none', answer({ containers: [{ name: 'server', usage: { cpu: 'much', memory: '1Ki' } }] })],
  ['a negative quantity', answer({ containers: [{ name: 'server', usage: { cpu: '-1', memory: '1Ki' } }] })],
  ['a window that is none', answer({ window: 'long' })],
  ['a time that is none', answer({ timestamp: 'now' })],
])('an answer with %s is refused', (_, given) => {
  expect(() => toSample({ pod: podOf(), role: 'server' }, given)).toThrow()
})
