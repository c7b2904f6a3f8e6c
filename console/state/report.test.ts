import { expect, test } from 'vitest'
import type { Event, WorldDeployment } from '#client/operations.ts'
import { newestRun, writeReport } from './report.ts'

const at = '2026-11-28T13:58:03.000Z'
const world = {
  documentId: 'wld-1',
  projectId: 'prj-1',
  organizationId: 'org-1',
  name: 'Lobby',
  status: {
    phase: 'Error' as const,
    message: 'The server failed.',
    conditions: [
      {
        type: 'Degraded' as const,
        status: 'True' as const,
        reason: 'CrashLoop',
        message: 'It fails.',
        lastTransitionAt: at,
      },
    ],
  },
}
const run = { id: 'dpl-1', status: 'Error', createdAt: at, exitCode: 137, restarts: 3 } as WorldDeployment
const event = (message: string): Event => ({
  id: 'evt-1',
  createdAt: at,
  type: 'Warning',
  reason: 'Restarted',
  message,
})
const write = (change: Partial<Parameters<typeof writeReport>[0]> = {}) =>
  writeReport({
    world,
    sentence: 'Lobby is not running.',
    run,
    events: [event('Again.')],
    nowMs: Date.parse(at),
    ...change,
  })

test('takes the run of the status for the newest one, and none if it was not read', () => {
  const [old, present] = [
    { ...run, runId: 'run-1' },
    { ...run, runId: 'run-2' },
  ]
  expect(newestRun({ items: [old, present], hasMore: false }, 'run-2')).toBe(present)
  expect(newestRun({ items: [old], hasMore: true }, 'run-2')).toBeUndefined()
  expect(newestRun({ items: [old], hasMore: false }, undefined)).toBe(old)
  expect(write({ world: { ...world, status: { ...world.status, runId: 'run-2' } } })).toContain('- Run: run-2\n')
})

test('names the world, why it does not run, its conditions, its newest run and its events', () => {
  expect(write()).toBe(`## Lobby: Error

Lobby is not running.

- World: wld-1
- Project: prj-1
- Organization: org-1
- Phase: Error
- Message: The server failed.

### Conditions

| Type | Status | Reason | Message | Since |
| --- | --- | --- | --- | --- |
| Degraded | True | CrashLoop | It fails. | 2026-11-28T13:58:03.000Z |

### Newest run

- Deployment: dpl-1
- Status: Error
- Requested: 2026-11-28T13:58:03.000Z
- Exit code: 137
- Restarts: 3

### Events

| Time | Type | Reason | Message |
| --- | --- | --- | --- |
| 2026-11-28T13:58:03.000Z | Warning | Restarted | Again. |

Read at 2026-11-28T13:58:03.000Z.
`)
})

test('leaves out what there is none of', () => {
  const text = write({
    world: { ...world, status: { phase: 'Inactive', message: '', conditions: [] } },
    sentence: undefined,
    run: undefined,
    events: [],
  })
  expect(text).not.toMatch(/Message|###/)
})

test('has at most 20 events', () => {
  expect(
    write({ events: Array.from({ length: 30 }, (_, index) => event(`Event ${index}.`)) }).match(/Event \d+/g),
  ).toHaveLength(20)
})

test('shows markup of a tenant as text', () => {
  const name = '![x](https://evil.example/p.png)\n# <b>`|@team www.evil.example'
  const [heading = ''] = write({ world: { ...world, name } }).split('\n')
  expect(heading).toBe(
    '## !\\[x\\](https&#58;//evil.example/p.png) # \\<b\\>\\`\\|&#64;team www&#46;evil.example: Error',
  )
})

test('makes invisible characters of a tenant visible', () => {
  expect(write({ world: { ...world, name: 'a\u202eb' } })).toContain('## a⟨U+202E⟩b: Error')
})

test('begins no heading, list or line with what a tenant wrote', () => {
  const sentences = ['# a', '- a', '+ a', '=== a', '  # a', '1. a', '12) a']
  const escaped = ['\\# a', '\\- a', '\\+ a', '\\=== a', '\\# a', '1\\. a', '12\\) a']
  expect(sentences.map((sentence) => write({ sentence }).split('\n')[2])).toEqual(escaped)
})
