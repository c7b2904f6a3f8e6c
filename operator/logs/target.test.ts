import { expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { labels } from '#shared/resources/group.ts'
import { findLogTarget } from './target.ts'

const runId = 'run-00000000000000000000000000'
const podOf = (kind: string, name: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name,
    namespace: 'orrery-a',
    uid: 'pod-1',
    labels: { [labels.run]: runId },
    ownerReferences: [{ apiVersion: 'orrery.dev/v1alpha1', kind, name: 'w', uid: 'owner-1', controller: true }],
  },
})
const server = podOf('World', 'w')
const bot = podOf('BotDeployment', 'w-3')
const caches = { servers: new Map([['orrery-a/w', server]]), bots: new Map([['orrery-a/w-3', bot]]) }
const ticket = {
  source: 'pod',
  namespace: 'orrery-a',
  kind: 'World',
  name: 'w',
  uid: 'owner-1',
  follow: false,
} as const

test('finds the server of a world by the uid of the world, the run and the uid of the pod', () => {
  expect(findLogTarget(ticket, caches)).toEqual({ pod: server, role: 'server' })
  expect(findLogTarget({ ...ticket, runId, podUid: 'pod-1' }, caches)?.pod).toBe(server)
})

test('finds a bot by its index', () => {
  expect(findLogTarget({ ...ticket, kind: 'BotDeployment', bot: 3 }, caches)).toEqual({ pod: bot, role: 'bot' })
  expect(findLogTarget({ ...ticket, kind: 'BotDeployment' }, caches)).toBeUndefined()
})

test.each([
  ['namespace', { namespace: 'orrery-b' }],
  ['name', { name: 'v' }],
  ['uid of the owner', { uid: 'owner-2' }],
  ['run', { runId: 'run-00000000000000000000000001' }],
  ['uid of the pod', { podUid: 'pod-2' }],
  ['kind', { kind: 'BotDeployment' as const, bot: 3, uid: 'owner-2' }],
])('finds no pod for another %s', (_, more) => {
  expect(findLogTarget({ ...ticket, ...more }, caches)).toBeUndefined()
})
