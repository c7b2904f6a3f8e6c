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

test('host ports are read by name, with a default', () => {
  const interval = { first: 7_000, last: 8_000 }
  expect(readOperatorConfig(required).world.hostPorts).toEqual(new Map([['default', [interval]]]))
  const env = { ...required, ORRERY_HOST_PORTS: 'default=7000-8000,static=27015,static=27020-27030' }
  const fixed = [
    { first: 27_015, last: 27_015 },
    { first: 27_020, last: 27_030 },
  ]
  expect(readOperatorConfig(env).world.hostPorts).toEqual(
    new Map([
      ['default', [interval]],
      ['static', fixed],
    ]),
  )
})

test('the Gateway and the URL of worlds are given together, or there are none', () => {
  const route = { ORRERY_ROUTE_GATEWAY: 'gateways/players/wss', ORRERY_ROUTE_URL: 'wss://*.worlds.example.com:8443' }
  expect(readOperatorConfig(required).world).not.toHaveProperty('route')
  expect(readOperatorConfig({ ...required, ...route }).world.route).toEqual({
    gateway: { namespace: 'gateways', name: 'players', listener: 'wss' },
    url: { scheme: 'wss', domain: 'worlds.example.com', port: 8443 },
  })
  const { ORRERY_ROUTE_GATEWAY, ORRERY_ROUTE_URL } = route
  expect(() => readOperatorConfig({ ...required, ORRERY_ROUTE_GATEWAY })).toThrow('ORRERY_ROUTE_URL: is missing: ')
  expect(() => readOperatorConfig({ ...required, ORRERY_ROUTE_URL })).toThrow('ORRERY_ROUTE_GATEWAY: is missing: ')
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
    ORRERY_DEFAULT_NETWORKING_STRATEGY: 'Route',
    ORRERY_ROUTE_GATEWAY: 'players',
    ORRERY_ROUTE_URL: 'wss://worlds.example.com',
    ORRERY_HOST_PORTS: 'default=7000-8000,voice=7500-9000,9000,game=31000-31100',
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
    'ORRERY_ROUTE_GATEWAY: must be the namespace, the name and optionally the listener of a Gateway',
    'ORRERY_ROUTE_URL: must be a URL with * for the id of a world',
    'ORRERY_HOST_PORTS: 9000 must be a named range such as default=7000-8000; game=31000-31100 overlaps the node ports ' +
      '30000-32767; voice=7500-9000 overlaps default=7000-8000',
  ]) {
    expect(message).toContain(expected)
  }
})
