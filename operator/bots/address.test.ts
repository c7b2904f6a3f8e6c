import { expect, test } from 'vitest'
import { deletedIndexes, planFor, settle, someBots } from '#operator/testing/bots.ts'
import { runA, startMs } from '#operator/testing/common.ts'
import { active as activeWorld, captured, running } from '#operator/testing/world.ts'
import { defaultPorts, type WorldPort } from '#shared/domain/ports.ts'
import type { networkingStrategies } from '#shared/enumerations.ts'
import type { World } from '#shared/resources/world.ts'
import { botAddressOf } from './address.ts'
import { addressOf } from './pod.ts'

const [game] = defaultPorts as [WorldPort]
const rcon: WorldPort = { name: 'rcon', containerPort: 25_575, protocol: 'TCP', expose: 'Internal' }

/** An Active world with that strategy, at 203.0.113.1:30000. */
const worldWith = (strategy: (typeof networkingStrategies)[number], changes: Partial<WorldPort> = {}): World => {
  const world = activeWorld()
  const run = { ...captured(running).status?.run, strategy, ports: [rcon, { ...game, ...changes }] } as never
  return {
    ...world,
    metadata: { ...world.metadata, name: 'lobby', namespace: 'games' },
    status: { ...world.status, phase: 'Active', runId: runA, run, address: { host: '203.0.113.1', port: 30_000 } },
  }
}

test.each([
  ['Default', {}, '203.0.113.1:30000'],
  ['ClusterIP', {}, '203.0.113.1:30000'],
  ['NodePort', {}, 'lobby.games.svc:7777'],
  ['Route', {}, 'lobby.games.svc:7777'],
  // A service that shares its address has the ports of the load balancer.
  ['LoadBalancer', {}, 'lobby.games.svc:30000'],
  ['HostPort', {}, '10.0.0.7:7777'],
  ['HostPort', { policy: 'Static', hostPort: 30_000 }, '10.0.0.7:7777'],
  ['HostPort', { policy: 'Passthrough' }, '10.0.0.7:30000'],
] as const)('bots reach a world with the strategy %s and %o at %s', (strategy, changes, address) => {
  expect(botAddressOf(worldWith(strategy, changes), '10.0.0.7')).toBe(address)
})

test('bots wait for the address of the world, and with host ports for that of the pod', () => {
  const world = worldWith('NodePort')
  const { address: _, ...status } = world.status ?? {}
  expect(botAddressOf({ ...world, status }, '10.0.0.7')).toBeUndefined()
  expect(botAddressOf(worldWith('HostPort'), undefined)).toBeUndefined()
  expect(botAddressOf(worldWith('HostPort'), 'fd00::7')).toBe('[fd00::7]:7777')
})

test('a bot deployment creates its bots with that address, and replaces them when the pod has another', () => {
  const input = { bots: someBots(1), world: worldWith('HostPort'), nowMs: startMs }
  expect(settle(input).pods).toEqual([])
  const made = settle({ ...input, serverIp: '10.0.0.7' })
  expect(made.pods?.map(addressOf)).toEqual(['10.0.0.7:7777'])
  expect(deletedIndexes(planFor(made))).toEqual([])
  expect(deletedIndexes(planFor({ ...made, serverIp: '10.0.0.8' }))).toEqual([0])
  // While its server restarts, the world has no address.
  expect(deletedIndexes(planFor({ ...made, serverIp: undefined }))).toEqual([])
})
