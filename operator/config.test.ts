import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readOperatorConfig } from './config.ts'

const required = { ORRERY_DEFAULT_SERVER_IMAGE: 'server:1', ORRERY_PUBLIC_URL: 'http://api.example' }

test('by default lost servers are never replaced by force, and the strategy Default is the pod', () => {
  const { world, scalingProfiles, queuePollMs } = readOperatorConfig(required)
  expect(world).toMatchObject({ nodeLostForceMs: 0, defaultStrategy: 'PodIP', placement: [], restartBudget: 3 })
  expect(scalingProfiles).toBeUndefined()
  expect(queuePollMs).toBe(5_000)
})

test('placement is read from the variable or from a file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'orrery-config-'))
  const file = join(dir, 'placement.json')
  writeFileSync(file, '[{"group":"staging","nodeLabels":{"pool":"small"}}]')
  const entry = { group: 'staging', nodeLabels: { pool: 'small' }, tolerations: [] }
  expect(readOperatorConfig({ ...required, ORRERY_PLACEMENT_FILE: file }).world.placement).toEqual([entry])
  const text = JSON.stringify([entry])
  expect(readOperatorConfig({ ...required, ORRERY_PLACEMENT: text }).world.placement).toEqual([entry])
  rmSync(dir, { recursive: true })
})

test('lists all errors together, those within one variable too', () => {
  const env = {
    ORRERY_PUBLIC_URL: 'http://api.example',
    ORRERY_PLACEMENT: '[{"group":"prod"},{"region":"Mars"}]',
    ORRERY_PLACEMENT_FILE: '/does/not/exist',
    ORRERY_SCALING_PROFILES: 'orrery-scaling-profiles',
    ORRERY_DEFAULT_NETWORKING_STRATEGY: 'Default',
  }
  let message = ''
  try {
    readOperatorConfig(env)
  } catch (error) {
    message = String(error)
  }
  for (const expected of [
    'ORRERY_DEFAULT_SERVER_IMAGE: is missing',
    '/0/group: ',
    '/1/region: ',
    'ORRERY_PLACEMENT_FILE: must name a readable file',
    'ORRERY_SCALING_PROFILES: must be a ConfigMap as namespace/name',
    'ORRERY_DEFAULT_NETWORKING_STRATEGY: ',
  ]) {
    expect(message).toContain(expected)
  }
})
