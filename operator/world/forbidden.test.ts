import { describe, expect, test } from 'vitest'
import { startMs } from '#operator/testing/common.ts'
import { applyStatus, aWorld, conditionOf, planFor, running, settings, verbs } from '#operator/testing/world.ts'

const image = 'ghcr.io/acme/server:1'
const planWith = (imageRegistries: readonly string[], spec: object = {}) =>
  planFor(aWorld({ ...running, ...spec }), undefined, startMs, '', { settings: { ...settings, imageRegistries } })

describe('outside the namespaces of organizations a server is not created', () => {
  test.each([
    ['from a registry that is not allowed', ['registry.example'], image],
    ['from an address, whatever is allowed', ['*'], '10.0.0.1:80/a'],
    ['from a loopback name', ['*'], 'localhost:5000/a'],
  ])('%s', (_, registries, from) => {
    const planned = planWith(registries, { runtime: { image: from } })
    expect(verbs(planned)).toEqual([])
    expect(planned.status.phase).toBe('Starting')
    expect(conditionOf(planned.status, 'Degraded')).toBe('True/ImageNotAllowed')
    expect(planned.status.message).not.toContain('10.0.0.1')
    expect(planned.status.run?.restarts).toBe(0)
    expect(planned.requeueAfterMs).toBe(15_000)
  })

  test('and neither is its service', () => {
    const spec = { runtime: { image: '10.0.0.1/a' }, networking: { strategy: 'LoadBalancer' } }
    expect(verbs(planWith(['*'], spec))).toEqual([])
  })

  test('and its run ends after the start deadline with the reason', () => {
    const spec = { ...running, runtime: { image: '10.0.0.1/a' } }
    const world = applyStatus(aWorld(spec), planFor(aWorld(spec)))
    const { status } = planFor(world, undefined, startMs + settings.startDeadlineMs)
    expect(status).toMatchObject({ phase: 'Error', run: { failure: { reason: 'ImageNotAllowed' } } })
  })

  test('until the settings of the operator allow it', () => {
    const spec = { ...running, runtime: { image } }
    const refused = applyStatus(aWorld(spec), planWith(['registry.example'], spec))
    expect(verbs(planFor(refused))).toEqual(['createPod'])
  })
})

test.each([
  ['an allowed registry', ['ghcr.io/acme'], { runtime: { image } }],
  ['the default image, whatever is allowed', [], {}],
])('a server is created from %s', (_, registries, spec) => {
  expect(verbs(planWith(registries, spec))).toEqual(['createPod'])
})

test.each([
  ['LoadBalancer', 'my.world', 'True/NameNotAllowed', []],
  ['LoadBalancer', '1', 'True/NameNotAllowed', []],
  ['LoadBalancer', 'my-world', 'False/AsExpected', ['createPod', 'createService']],
  ['PodIP', 'my.world', 'False/AsExpected', ['createPod']],
] as const)('with the default strategy %s, a World %s has Degraded %s', (defaultStrategy, name, degraded, steps) => {
  const world = aWorld(running, undefined, { name })
  const planned = planFor(world, undefined, startMs, '', { settings: { ...settings, defaultStrategy } })
  expect(conditionOf(planned.status, 'Degraded')).toBe(degraded)
  expect(verbs(planned)).toEqual(steps)
})
