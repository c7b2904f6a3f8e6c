import { describe, expect, test } from 'vitest'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { aWorld, frozen, planFor, running, settings, startMs, written } from './fixtures.ts'
import { parsePlacement } from './placement.ts'
import { buildPod } from './pod.ts'
import { overrideProfiles } from './profiles.ts'

const specOf = (world = frozen(), of = settings): Record<string, unknown> => {
  const run = world.status?.run
  if (run === undefined) throw new Error('no run')
  return { ...buildPod(world, run, of).spec }
}
const resourcesOf = (spec: Record<string, unknown>): unknown => {
  const [container] = spec.containers as { resources: unknown }[]
  return container?.resources
}

describe('scaling profiles', () => {
  test('are overridden one by one, and what is left out stays', () => {
    const { value } = overrideProfiles({
      Capacity30: 'memoryLimit: 6Gi\n',
      Capacity10: '{"memoryLimit": "512Mi", "cpuLimit": "250m"}',
    })
    expect(value?.Capacity30).toEqual({ ...scalingProfiles.Capacity30, memoryLimit: '6Gi' })
    expect(value?.Capacity10).toMatchObject({ capacity: 10, memoryLimit: '512Mi', cpuLimit: '250m' })
    expect(value?.Capacity60).toEqual(scalingProfiles.Capacity60)
  })

  test('with faults are refused with all of them at once', () => {
    const { value, faults } = overrideProfiles({
      Huge: 'memoryLimit: 1Ti',
      Capacity30: 'memoryLimit: much\ncpuLimit: 2',
      Capacity60: 'memory: 4Gi',
      Capacity100: ': : :',
    })
    expect(value).toBeUndefined()
    const text = faults?.join('\n') ?? ''
    expect(text).toContain('Huge: is no scaling profile; they are Capacity10, ')
    expect(text).toContain('Capacity30.memoryLimit: must be a text such as "6Gi"')
    expect(text).toContain('Capacity30.cpuLimit: ')
    expect(text).toContain('Capacity60: Unrecognized key: "memory"')
    expect(text).toContain('Capacity100: ')
  })

  test('give a pod its limits, and its requests as the configured part of them', () => {
    expect(resourcesOf(specOf())).toEqual({
      limits: { memory: '4Gi', cpu: '1' },
      requests: { memory: '4096Mi', cpu: '250m' },
    })
  })

  test('that changed take effect at the next run: a restart within a run has what the run was frozen with', () => {
    const { value: profiles = scalingProfiles } = overrideProfiles({ Capacity30: 'memoryLimit: 512Mi' })
    const changed = { ...settings, profiles }
    expect(resourcesOf(specOf(frozen(), changed))).toMatchObject({ limits: { memory: '4Gi' } })
    const next = planFor(aWorld(running), undefined, startMs, '', { settings: changed })
    const world = written(aWorld(running), next)
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
    { group: 'production', nodeLabels: { pool: 'rest' }, priorityClassName: 'worlds' },
  ])
  const placed = (compute: object): Record<string, unknown> => {
    const { value: placement = [] } = parsePlacement(text)
    return specOf(frozen({ ...running, compute }), { ...settings, placement })
  }

  test('of the first entry that matches group and region is that of the pod', () => {
    expect(placed({})).toMatchObject({ nodeSelector: { pool: 'eu' }, tolerations: [toleration] })
    expect(placed({ region: 'AsiaPacific' })).toMatchObject({
      nodeSelector: { pool: 'rest' },
      priorityClassName: 'worlds',
    })
    const anywhere = placed({ group: 'staging' })
    for (const field of ['nodeSelector', 'tolerations', 'priorityClassName']) expect(anywhere).not.toHaveProperty(field)
  })

  test('is that of the start of the run, whatever was edited since', () => {
    const { value: placement = [] } = parsePlacement(text)
    const edited = { ...frozen(), spec: aWorld({ ...running, compute: { group: 'staging' } }).spec }
    expect(specOf(edited, { ...settings, placement })).toMatchObject({ nodeSelector: { pool: 'eu' } })
  })

  test('with faults is refused with all of them and their places', () => {
    expect(parsePlacement('{').faults?.[0]).toContain('must be JSON')
    const { faults } = parsePlacement('[{"group":"prod"},{"nodeLabel":{}}]')
    expect(faults).toHaveLength(2)
    expect(faults?.[0]).toMatch(/^\/0\/group: /)
    expect(faults?.[1]).toMatch(/^\/1: /)
  })
})
