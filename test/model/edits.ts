import {
  computeGroups,
  computeRegions,
  hostPortPolicies,
  networkingStrategies,
  portProtocols,
} from '#shared/enumerations.ts'
import { scalingProfileNames } from '#shared/scalingProfiles.ts'
import { lastMinute } from '#test/support/schedules.ts'
import { pick } from './model.ts'

/** Returns a merge patch of a spec. */
type Edit = (random: () => number) => object

const longLabel = 'x'.repeat(257)
const metadataEdits: readonly Edit[] = [
  () => ({ metadata: { labels: { team: 'red' } } }),
  () => ({ metadata: { labels: { [longLabel]: 'long' } } }),
  () => ({ metadata: { annotations: { note: 'Edited with kubectl' }, labels: null } }),
]
const common: readonly Edit[] = [
  ...metadataEdits,
  () => ({ description: 'Edited with kubectl' }),
  () => ({ description: 'x'.repeat(5_000) }),
  (random) => ({ durationMinutes: 600 + Math.floor(random() * 100) }),
  () => ({ durationMinutes: null }),
  (random) => ({ revision: 100 + Math.floor(random() * 1_000) }),
  () => ({ revision: 1 }),
]

/** Edits of every field of a World, valid and invalid ones. */
export const worldEdits: readonly Edit[] = [
  ...common,
  (random) => ({ displayName: `Renamed ${Math.floor(random() * 100)}` }),
  () => ({ displayName: null }),
  () => ({ state: 'Running' }),
  () => ({ state: 'Stopped' }),
  () => ({ runId: 'run-01m7y9g1a7emva3288dhww2jgd' }),
  () => ({ runId: null, startedAt: null }),
  () => ({ startedAt: '2001-01-01T00:00:00Z' }),
  (random) => ({ transient: random() < 0.5, durationMinutes: 600 }),
  (random) => ({ scaling: { profile: pick(scalingProfileNames, random) } }),
  (random) => ({ compute: { group: pick(computeGroups, random) } }),
  (random) => ({ compute: { region: pick(computeRegions, random) } }),
  (random) => ({ networking: { strategy: pick(networkingStrategies, random) } }),
  (random) => ({ networking: { ports: [{ name: 'game', containerPort: 9_000 + Math.floor(random() * 10) }] } }),
  (random) => ({
    networking: {
      ports: [
        { name: 'game', containerPort: 9_000, protocol: pick(portProtocols, random) },
        { name: 'rcon', containerPort: 9_001, expose: 'Internal' },
      ],
    },
  }),
  (random) => ({
    networking: {
      ports: [{ name: 'game', containerPort: 9_000, policy: pick(hostPortPolicies, random), range: 'default' }],
    },
  }),
  () => ({ networking: { ports: [{ name: 'game', containerPort: 9_000, policy: 'Static', hostPort: 7_000 }] } }),
  () => ({ networking: { ports: [{ name: 'game', containerPort: 9_000, range: 'other' }] } }),
  () => ({ networking: { ports: null } }),
  () => ({ networking: { ports: [{ name: 'rcon', containerPort: 9_000, expose: 'Internal' }] } }),
  (random) => ({ runtime: { capacity: 1 + Math.floor(random() * 30) } }),
  () => ({ runtime: { capacity: 10_000 } }),
  () => ({ runtime: { mapName: 'arena', args: ['ready'] } }),
  () => ({ runtime: { image: 'registry.example/other:1' } }),
  () => ({ runtime: { contentId: 'other' } }),
  () => ({ runtime: { probes: false } }),
  () => ({ runtime: { query: { protocol: 'Http' } } }),
  () => ({ idleStopMinutes: 1, wakeOnAccess: 'Access' }),
  () => ({ idleStopMinutes: 1 }),
  () => ({ idleStopMinutes: null }),
  () => ({ idleStopMinutes: 0 }),
  () => ({ wakeOnAccess: 'Access' }),
  () => ({ wakeOnAccess: 'Never' }),
  () => ({ wakeOnAccess: null }),
  () => ({ schedule: lastMinute('start') }),
  () => ({ schedule: { ...lastMinute('stop', 'restart'), timeZone: 'Europe/Berlin' } }),
  () => ({ schedule: { start: '0 0 30 2 *' } }),
  () => ({ schedule: { timeZone: 'Mars/Base' } }),
  () => ({ schedule: { stop: null } }),
  () => ({ schedule: null }),
  () => ({ nextAction: { what: 'start', at: new Date(Date.now() - 60_000).toISOString() } }),
  () => ({ nextAction: null }),
]

/** Edits of every field of a BotDeployment, valid and invalid ones. */
export const botEdits: readonly Edit[] = [
  ...common,
  (random) => ({ count: Math.floor(random() * 4) }),
  () => ({ count: 10_000 }),
  () => ({ cpu: '250m', memory: '256Mi' }),
  () => ({ cpu: '64' }),
  () => ({ args: ['ready', '--quiet'] }),
  () => ({ worldName: 'another-world' }),
]
