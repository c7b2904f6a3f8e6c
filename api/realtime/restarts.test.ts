import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { aConnection, createFakePeer } from '#test/support/fakePeer.ts'
import type { Entry, Subscription } from './connection.ts'
import { createRestarts } from './restarts.ts'

const aSubscription = (): Subscription => {
  const topic = { organizationId: 'org-1', projectId: 'prj-1', worldId: '', type: 'liveConfig' as const, id: 'a' }
  const entry: Entry = { key: 'a', topic, subscriptions: new Set(), bytes: 0 }
  const subscription: Subscription = {
    connection: aConnection(createFakePeer().peer),
    entry,
    resource: { type: 'liveConfig', id: 'a' },
    isOwnScope: true,
    sentVersionMs: 0,
    needsSnapshot: false,
    skippedVersionMs: 0,
    grant: undefined,
  }
  entry.subscriptions.add(subscription)
  return subscription
}

test('restarts a subscription at once and then once a second, and not after it has ended', async () => {
  const clock = createFakeClock()
  const restarted: Subscription[] = []
  const restart = createRestarts({ clock, signal: new AbortController().signal }, (each) => void restarted.push(each))
  const advance = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await new Promise(setImmediate)
  }
  const [one, other] = [aSubscription(), aSubscription()]
  for (const _ of [1, 2, 3]) restart(one)
  restart(other)
  expect(restarted).toEqual([one, other])
  await advance(999)
  expect(restarted).toHaveLength(2)
  await advance(1)
  expect(restarted).toEqual([one, other, one])
  restart(one)
  one.entry.subscriptions.clear()
  await advance(2_000)
  expect(restarted).toHaveLength(3)
})
