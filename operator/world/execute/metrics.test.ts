import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { at, runA, startMs } from '#operator/testing/common.ts'
import { aWorld, running } from '#operator/testing/world.ts'
import { createWorldMetrics } from './metrics.ts'

const event = (reason: string) => ({ type: 'Normal', reason, action: 'Test', note: '' }) as const
const run = { id: runA, startedAt: at(startMs), profile: 'Capacity30', image: 'i' }

test('counts worlds by phase, players, starts, restarts and ends, and passes each event on', async () => {
  const registry = new Registry()
  const metrics = createWorldMetrics(registry, () => startMs + 4_000)
  const starting = aWorld(running, { phase: 'Starting', run } as never)
  const active = aWorld(running, {
    phase: 'Active',
    run: { ...run, readyAt: at(startMs) },
    queue: { active: 12, queued: 3 },
  } as never)
  metrics.observeWorlds(() => [starting, active, active, aWorld(running)])
  metrics.observePods(() => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'w' },
    status: { conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: at(startMs + 3_000) }] },
  }))
  const passed: string[] = []
  const events = metrics.count({ record: (_, { reason }) => passed.push(reason) })
  events.record(starting, event('Ready'))
  for (const reason of ['Ready', 'Restarted', 'Expired']) events.record(active, event(reason))

  expect(passed).toEqual(['Ready', 'Ready', 'Restarted', 'Expired'])
  const text = await registry.metrics()
  for (const line of [
    'orrery_worlds{phase="Active"} 2',
    'orrery_worlds{phase="Starting"} 1',
    'orrery_worlds{phase="Inactive"} 1',
    'orrery_worlds{phase="Error"} 0',
    'orrery_players{state="active"} 24',
    'orrery_players{state="queued"} 6',
    'orrery_world_start_seconds_count 1',
    'orrery_world_start_seconds_sum 4',
    'orrery_world_start_stage_seconds_sum{stage="ready"} 3',
    'orrery_world_start_stage_seconds_sum{stage="address"} 1',
    'orrery_world_start_stage_seconds_count{stage="container"} 0',
    'orrery_world_restarts_total 1',
    'orrery_runs_ended_total{reason="Expired"} 1',
    'orrery_runs_ended_total{reason="RestartBudget"} 0',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
})
