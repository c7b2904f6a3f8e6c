import { describe, expect, test } from 'vitest'
import { startMs } from '#operator/testing/common.ts'
import { applyStatus, aWorld, captured, planFor, running, settings } from '#operator/testing/world.ts'
import { overrideProfiles } from '#shared/profileOverrides.ts'
import type { World, WorldRun } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { parsePlacement } from './placement.ts'
import { buildPod } from './pod.ts'

const runOf = ({ status }: World): WorldRun => {
  if (status?.run === undefined) throw new Error('no run')
  return status.run
}
const specOf = (world = captured(), of = settings): Record<string, unknown> => ({
  ...buildPod(world, runOf(world), of).spec,
})
const resourcesOf = (spec: Record<string, unknown>): unknown => {
  const [container] = spec.containers as { resources: unknown }[]
  return container?.resources
}

describe('scaling profiles', () => {
  test('are overridden field by field', () => {
    const { value } = overrideProfiles({
      Capacity30: 'memoryLimit: 6Gi\n',
      Capacity10: '{"memoryLimit": "512Mi", "cpuLimit": "250m"}',
    })
    expect(value?.Capacity30).toEqual({ ...scalingProfiles.Capacity30, memoryLimit: '6Gi' })
    expect(value?.Capacity10).toMatchObject({ capacity: 10, memoryLimit: '512Mi', cpuLimit: '250m' })
    expect(value?.Capacity60).toEqual(scalingProfiles.Capacity60)
  })

  test('with errors are refused with all errors listed', () => {
    const { value, errors } = overrideProfiles({
      Huge: 'memoryLimit: 1Ti',
      Capacity30: 'memoryLimit: much\ncpuLimit: 2',
      Capacity60: 'memory: 4Gi',
      Capacity100: ': : :',
    })
    expect(value).toBeUndefined()
    const text = errors?.join('\n') ?? ''
    expect(text).toContain('Huge: is not a scaling profile; the profiles are Capacity10, ')
    expect(text).toContain('Capacity30.memoryLimit: must be a string such as "6Gi"')
    expect(text).toContain('Capacity30.cpuLimit: ')
    expect(text).toContain('Capacity60: Unrecognized key: "memory"')
    expect(text).toContain('Capacity100: ')
  })

  test('set the limits of a pod, and its requests as the configured part', () => {
    expect(resourcesOf(specOf())).toEqual({
      limits: { memory: '4Gi', cpu: '1', 'ephemeral-storage': '512Mi' },
      requests: { memory: '4096Mi', cpu: '250m', 'ephemeral-storage': '0' },
    })
  })

  test('that changed take effect at the next run and not at a restart', () => {
    const { value: profiles = scalingProfiles } = overrideProfiles({ Capacity30: 'memoryLimit: 512Mi' })
    const changed = { ...settings, profiles }
    expect(resourcesOf(specOf(captured(), changed))).toMatchObject({ limits: { memory: '4Gi' } })
    const next = planFor(aWorld(running), undefined, startMs, '', { settings: changed })
    const world = applyStatus(aWorld(running), next)
    expect(resourcesOf(specOf(world, changed))).toMatchObject({
      limits: { memory: '512Mi' },
      requests: { memory: '512Mi' },
    })
  })
})

describe('placement', () => {
  const toleration = { key: 'worlds', operator: 'Exists', effect: 'NoSchedule' }
  const text = JSON.stringify([
    { group: 'production', region: 'Europe', nodeLabels: { pool: 'eu' }, tolerations: [toleration] },
    { group: 'production', nodeLabels: { pool: 'rest' }, priorityClassName: 'worlds', runtimeClassName: 'gvisor' },
  ])
  const placed = (compute: object): Record<string, unknown> => {
    const { value: placement = [] } = parsePlacement(text)
    return specOf(captured({ ...running, compute }), { ...settings, placement })
  }

  test('is that of the first entry that matches group and region', () => {
    expect(placed({})).toMatchObject({ nodeSelector: { pool: 'eu' }, tolerations: [toleration] })
    expect(placed({ region: 'AsiaPacific' })).toMatchObject({
      nodeSelector: { pool: 'rest' },
      priorityClassName: 'worlds',
      runtimeClassName: 'gvisor',
    })
    const anywhere = placed({ group: 'staging' })
    for (const field of ['nodeSelector', 'tolerations', 'priorityClassName']) expect(anywhere).not.toHaveProperty(field)
  })

  const keepsNode = (placement: string): boolean => {
    const world = captured(running)
    const { value = [] } = parsePlacement(placement)
    const { annotations } = buildPod(world, runOf(world), { ...settings, placement: value }).metadata
    const keeps = [
      annotations?.['cluster-autoscaler.kubernetes.io/safe-to-evict'] === 'false',
      annotations?.['karpenter.sh/do-not-disrupt'] === 'true',
    ]
    expect(new Set(keeps).size).toBe(1)
    return keeps.every(Boolean)
  }

  test.each([
    ['no placement', '[]', true],
    ['another placement', '[{"group":"staging","safeToEvict":true}]', true],
    ['a placement', '[{"group":"production"}]', true],
    ['a placement with safeToEvict: false', '[{"safeToEvict":false}]', true],
    ['a placement with safeToEvict: true', '[{"safeToEvict":true}]', false],
  ])('with %s decides whether autoscalers must keep the node of a server', (_, text, isKept) => {
    expect(keepsNode(text)).toBe(isKept)
  })

  test('is that of the start of the run despite later edits', () => {
    const { value: placement = [] } = parsePlacement(text)
    const edited = { ...captured(), spec: aWorld({ ...running, compute: { group: 'staging' } }).spec }
    expect(specOf(edited, { ...settings, placement })).toMatchObject({ nodeSelector: { pool: 'eu' } })
  })

  test('with errors is refused with all errors and their paths', () => {
    expect(parsePlacement('{').errors?.[0]).toContain('must be JSON')
    const { errors } = parsePlacement('[{"group":"prod"},{"nodeLabel":{}}]')
    expect(errors).toHaveLength(2)
    expect(errors?.[0]).toMatch(/^\/0\/group: /)
    expect(errors?.[1]).toMatch(/^\/1: /)
  })
})
