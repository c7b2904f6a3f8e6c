import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { platform } from '#api/domain/access/claims.ts'
import { aConnection, aScope, createFakePeer } from '#test/support/fakePeer.ts'
import type { Connection, Entry, Subscription } from './connection.ts'
import { createHub, type Snapshot } from './hub.ts'
import { createRealtimeMetrics } from './metrics.ts'
import { maxPendingBytes } from './pending.ts'
import type { Change } from './tail.ts'

type Reading = { entry: Entry; awaiting: Set<Subscription> }
const named = { type: 'liveConfig', id: 'a' }
const textOf = (version: number): string => new Date(version).toISOString()

/** Creates a hub over rows that the test sets. The test starts and ends its reads. */
const createTestHub = () => {
  const queue = new Set<Entry>()
  const ended: string[] = []
  const keys: string[] = []
  const registry = new Registry()
  const hub = createHub({
    metrics: createRealtimeMetrics(
      registry,
      () => 0,
      () => 0,
    ),
    read: (entry) => void queue.add(entry),
    feedChanged: () => undefined,
    restartFeed: () => undefined,
    repeat: (subscription) => {
      subscription.needsSnapshot = true
      queue.add(subscription.entry)
    },
    keyChanged: (id) => void keys.push(id),
    scheduleFlush: (connection) => hub.flush(connection, 0),
    end: (connection, why) => void ended.push(`${connection.principal.id} ${why}`),
  })
  const row = (versionMs: number, more: Partial<Snapshot> = {}): Snapshot => ({
    ...aScope,
    userId: 'u',
    data: `{"n":${versionMs}}`,
    versionMs,
    deleted: false,
    ...more,
  })
  const begin = (): Reading[] => {
    const readings = [...queue].map((entry) => ({ entry, awaiting: hub.subscriptionsForSnapshot(entry) }))
    queue.clear()
    return readings
  }
  const end = (readings: readonly Reading[], found: Snapshot | undefined): void => {
    for (const { entry, awaiting } of readings) hub.publishSnapshot(entry, found, awaiting)
  }
  return {
    hub,
    ended,
    keys,
    row,
    gone: (versionMs: number): Snapshot => row(versionMs, { data: '{}', deleted: true }),
    /** Starts the requested reads; `end` delivers their result. */
    begin,
    end,
    /** Runs all requested reads. */
    read: (found: Snapshot | undefined): void => {
      for (let at = 0; at < 5 && queue.size > 0; at += 1) end(begin(), found)
      expect(queue.size).toBe(0)
    },
    change: (versionMs: number, more: Partial<Change> = {}): void => {
      const change: Change = {
        ...aScope,
        type: 'liveConfig',
        id: 'a',
        userId: 'u',
        data: `{"n":${versionMs}}`,
        versionMs,
        ageMs: 0,
        ...more,
      }
      hub.publish([change], 0)
    },
    wants: (): number => queue.size,
    /** Returns the number of subscriptions in the metrics. */
    counted: async (): Promise<number | undefined> =>
      /^\S*subscriptions (-?\d+)$/m
        .exec(await registry.metrics())
        ?.slice(1)
        .map(Number)[0],
    client: (more: Parameters<typeof aConnection>[1] = {}) => {
      const wire = createFakePeer()
      const connection: Connection = aConnection(wire.peer, more)
      return {
        ...wire,
        connection,
        subscribe: (id = 'a'): void => hub.subscribe(connection, { ...named, id }),
        /** Returns the versions that it received, and the warning or error in messages without one. */
        versions: (): unknown[] => wire.messages().map(({ version, warning, error }) => version ?? warning ?? error),
      }
    },
  }
}

describe('a subscription', () => {
  test('gets the snapshot and then each newer version', () => {
    const { client, row, read, change } = createTestHub()
    const one = client()
    one.subscribe()
    read(row(5))
    for (const version of [6, 7]) change(version)
    expect(one.versions()).toEqual([5, 6, 7].map(textOf))
    expect(one.messages()[0]).toEqual({ userId: 'u', resource: named, data: { n: 5 }, version: textOf(5) })
  })

  test('never gets the same or an older version, in any order of snapshot and change', () => {
    const { client, row, read, begin, end, change, hub } = createTestHub()
    const one = client()
    one.subscribe()
    read(row(5))
    for (const version of [3, 5]) change(version)
    hub.refresh()
    const slow = begin()
    change(7)
    end(slow, row(6))
    expect(one.versions()).toEqual([5, 7].map(textOf))
  })

  test('gets the snapshot before changes that are older than the snapshot', () => {
    const { client, row, read, begin, end, change } = createTestHub()
    const one = client()
    one.subscribe()
    const reading = begin()
    // The tail is late: these changes were committed before the row was read.
    for (const version of [2, 3]) change(version)
    expect(one.versions()).toEqual([])
    end(reading, row(5))
    read(row(5))
    expect(one.versions()).toEqual([textOf(5)])
  })

  test('ignores a snapshot whose read began before the subscription', () => {
    const { client, row, read, begin, end } = createTestHub()
    const [one, two] = [client(), client()]
    one.subscribe()
    const early = begin()
    two.subscribe()
    end(early, row(5))
    expect([one.versions(), two.versions()]).toEqual([[textOf(5)], []])
    read(row(6))
    expect([one.versions(), two.versions()]).toEqual([[5, 6].map(textOf), [textOf(6)]])
  })

  test('gets a change that its snapshot does not contain', () => {
    const { client, row, read, begin, end, change } = createTestHub()
    const [one, two] = [client(), client()]
    one.subscribe()
    two.subscribe()
    const early = begin()
    change(6)
    end(early, row(5))
    read(row(6))
    change(7)
    for (const each of [one, two]) expect(each.versions()).toEqual([5, 6, 7].map(textOf))
  })

  test('gets a warning and then the document if it is created during the read', () => {
    const { client, row, read, begin, end, change } = createTestHub()
    const one = client()
    one.subscribe()
    const early = begin()
    change(6)
    end(early, undefined)
    read(row(6))
    expect(one.versions()).toEqual(['resource_not_found', textOf(6)])
  })

  test('gets only a warning for a deleted document, in any order of snapshot and deletion', () => {
    const { client, gone, read, begin, end, change } = createTestHub()
    const deletion = { data: '{}' }
    const [one, two] = [client(), client()]
    one.subscribe()
    change(6, deletion)
    read(gone(6))
    two.subscribe()
    const reading = begin()
    end(reading, gone(6))
    change(6, deletion)
    read(gone(6))
    for (const each of [one, two]) expect(each.versions()).toEqual(['resource_not_found'])
  })

  test('gets a deletion that its snapshot does not contain', () => {
    const { client, row, gone, read, begin, end, change } = createTestHub()
    const one = client()
    one.subscribe()
    const early = begin()
    change(6, { data: '{}' })
    end(early, row(5))
    read(gone(6))
    expect(one.messages().map(({ data }) => data)).toEqual([{ n: 5 }, {}])
  })

  test('gets one snapshot per subscribe message', () => {
    const { client, row, read, change } = createTestHub()
    const one = client()
    one.subscribe()
    read(row(5))
    one.subscribe()
    read(row(5))
    change(6)
    expect(one.versions()).toEqual([5, 5, 6].map(textOf))
  })

  test('gets nothing after it ends, and causes no reads', () => {
    const { client, row, read, begin, end, change, hub, wants } = createTestHub()
    const [one, two] = [client(), client()]
    one.subscribe()
    two.subscribe()
    read(row(5))
    hub.unsubscribe(one.connection, named)
    hub.remove(two.connection)
    change(6, { data: undefined })
    hub.refresh()
    expect(wants()).toBe(0)
    one.subscribe()
    const reading = begin()
    hub.remove(one.connection)
    end(reading, row(7))
    expect([one.versions(), two.versions()]).toEqual([[textOf(5)], [textOf(5)]])
  })
})

describe('a change', () => {
  test('without data is read from the row', () => {
    const { client, row, read, change } = createTestHub()
    const one = client()
    one.subscribe()
    read(row(5))
    change(6, { data: undefined })
    read(row(7))
    change(7)
    expect(one.versions()).toEqual([5, 7].map(textOf))
  })

  test('of an API key is reported to the recheck and to no subscriber', () => {
    const { change, keys } = createTestHub()
    change(6, { type: 'apiKey', id: 'key-1' })
    expect(keys).toEqual(['key-1'])
  })

  test('is delivered with the id as each subscriber wrote it', () => {
    const { client, row, read, change } = createTestHub()
    const [plain, scoped] = [client(), client()]
    plain.subscribe('a')
    scoped.subscribe('Project:a')
    read(row(5))
    change(6)
    expect([plain, scoped].map((each) => each.messages().map(({ resource }) => resource))).toEqual([
      [named, named],
      [1, 2].map(() => ({ ...named, id: 'Project:a' })),
    ])
  })
})

describe('a client that is behind', () => {
  test('gets only the newest version when it reads again', () => {
    const { client, row, read, change } = createTestHub()
    const one = client()
    one.subscribe()
    read(row(5))
    one.fill(1_000_000)
    for (const version of [6, 7, 8]) change(version)
    expect(one.versions()).toEqual([textOf(5)])
    one.drain()
    change(9)
    expect(one.versions()).toEqual([5, 8, 9].map(textOf))
  })

  test('gets dropped updates from the row when it has room', () => {
    const { client, row, read, change, wants } = createTestHub()
    const one = client()
    for (const id of ['a', 'b']) one.subscribe(id)
    read(row(5))
    one.fill(1_000_000)
    const large = JSON.stringify({ text: 'x'.repeat(maxPendingBytes) })
    change(6)
    change(6, { id: 'b', data: large })
    change(7, { id: 'b', data: large })
    expect(wants()).toBe(0)
    one.drain()
    read(row(7))
    expect(one.versions()).toEqual([5, 5, 6, 7].map(textOf))
    change(8, { id: 'b' })
    expect(one.versions().at(-1)).toBe(textOf(8))
  })

  test('causes no read until it has room, unless another client has', () => {
    const { client, row, read, hub, wants, change } = createTestHub()
    const [full, free] = [client(), client()]
    for (const each of [full, free]) each.subscribe('a')
    full.subscribe('b')
    read(row(5))
    full.fill(1_000_000)
    change(6)
    const [first, second] = [...full.connection.subscriptions].map(({ entry }) => entry)
    if (first === undefined || second === undefined) throw new Error('two subscriptions were expected')
    expect([hub.hasReader(first), hub.hasReader(second)]).toEqual([true, false])
    expect(wants()).toBe(0)
    full.drain()
    expect(wants()).toBe(1)
  })

  test('reads as many postponed documents as fit, and the next ones after these', () => {
    const { client, row, read, begin, end, change, wants } = createTestHub()
    const one = client()
    const ids = ['a', 'b', 'c']
    for (const id of ids) one.subscribe(id)
    read(row(5))
    const large = JSON.stringify({ text: 'x'.repeat(maxPendingBytes) })
    one.fill(1_000_000)
    change(6)
    for (const id of ids) change(7, { id, data: large })
    one.drain()
    // The first document was queued while the client was behind.
    for (const _ of ids.slice(1)) {
      expect(wants()).toBe(1)
      end(begin(), row(7, { data: large }))
    }
    expect(wants()).toBe(0)
    expect(one.versions().filter((version) => version === textOf(7))).toHaveLength(ids.length)
  })

  test('is disconnected if too many notices are unread', () => {
    const { client, hub, ended } = createTestHub()
    const one = client()
    one.fill(1_000_000)
    for (let at = 0; at < 258; at += 1) hub.refuseMalformed(one.connection)
    expect(ended).toContain('platform unread')
  })
})

describe('permissions', () => {
  const principal = {
    ...platform,
    kind: 'key' as const,
    id: 'key-1',
    permissions: ['organizations/org-1/projects/prj-1:r'],
  }

  test('that are revoked end their subscriptions with an error', () => {
    const { client, row, read, change, hub } = createTestHub()
    const one = client({ principal })
    one.subscribe()
    read(row(5))
    hub.updatePermissions(one.connection, [])
    change(6)
    expect(one.versions()).toEqual([textOf(5), 'No permission'])
  })

  test('that are revoked end each subscription once if the client disconnects meanwhile', async () => {
    const { client, hub, counted } = createTestHub()
    const [one, two] = [client({ principal }), client()]
    for (const id of ['a', 'b', 'c']) one.subscribe(id)
    two.subscribe()
    one.peer.write = () => hub.remove(one.connection)
    hub.updatePermissions(one.connection, [])
    expect(await counted()).toBe(1)
  })

  test('that are missing make a world absent until they are granted', () => {
    const world = 'wld-00000000000000000000000000'
    const { client, row, read, change, hub } = createTestHub()
    const one = client({ principal })
    hub.subscribe(one.connection, { type: 'world', id: world })
    const found = row(5, { worldId: world })
    read(found)
    change(6, { type: 'world', id: world, worldId: world, data: undefined })
    read(row(6, { worldId: world }))
    expect(one.versions()).toEqual(['resource_not_found'])
    hub.updatePermissions(one.connection, ['organizations/org-1/projects/prj-1/**:r'])
    read(row(6, { worldId: world }))
    expect(one.versions()).toEqual(['resource_not_found', textOf(6)])
  })
})

test('tells a client of a world nothing when its counts change', () => {
  const world = 'wld-00000000000000000000000000'
  const { client, row, read, change, hub, begin } = createTestHub()
  const one = client()
  hub.subscribe(one.connection, { type: 'world', id: world })
  read(row(5, { worldId: world }))
  const counted = { type: 'worldCounts', id: world, worldId: world, data: undefined } as const
  change(5, counted)
  expect(begin()).toEqual([])
  change(6, { ...counted, data: '{}' })
  expect(one.versions()).toEqual([textOf(5)])
})

test('refuses subscriptions beyond 64 MiB of an organization, takes those of another, and again after some have ended', () => {
  const { hub } = createTestHub()
  const ofOrganization = (organizationId: string) => {
    const { peer, messages } = createFakePeer()
    const connection = { ...aConnection(peer), scope: { organizationId, projectId: '', worldId: '' } }
    return { connection, messages }
  }
  const subscribeTo = ({ connection }: ReturnType<typeof ofOrganization>, count: number): void => {
    for (let at = 0; at < count; at += 1) hub.subscribe(connection, { type: 'kvStore', id: `${at}${'x'.repeat(240)}` })
  }
  const clients = Array.from({ length: 600 }, () => ofOrganization('org-1'))
  for (const client of clients) subscribeTo(client, 128)
  const taken = clients.reduce((sum, { connection }) => sum + connection.subscriptions.length, 0)
  expect(taken).toBeGreaterThan(60_000)
  expect(taken).toBeLessThan(70_000)
  expect(clients.at(-1)?.messages().at(-1)).toMatchObject({ error: 'Too many subscriptions' })
  const other = ofOrganization('org-2')
  subscribeTo(other, 128)
  expect(other.connection.subscriptions).toHaveLength(128)
  const [first, last] = [clients.at(0), clients.at(-1)]
  if (first === undefined || last === undefined) throw new Error('no clients')
  hub.remove(first.connection)
  subscribeTo(last, 128)
  expect(last.connection.subscriptions).toHaveLength(128)
})
