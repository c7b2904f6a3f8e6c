import { expect, test } from 'vitest'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Change } from '#shared/kube/store.ts'
import { trackDeletedUids } from './deletedUids.ts'

const aCache = () => {
  const listeners: ((change: Change<KubeObject>) => void)[] = []
  return {
    onChange: (listener: (change: Change<KubeObject>) => void) => void listeners.push(listener),
    report: (type: 'added' | 'deleted', uid: string, initial = false) => {
      const object = { apiVersion: 'v1', kind: 'Thing', metadata: { name: 'a', uid } }
      for (const listener of listeners) listener({ type, key: 'a', object, initial })
    },
  }
}

test('has the uids of the objects that a cache has seen deleted', () => {
  const cache = aCache()
  const uids = trackDeletedUids(cache)
  cache.report('added', 'present')
  cache.report('deleted', 'gone')
  cache.report('deleted', 'not in the list', true)
  expect(['present', 'gone', 'not in the list', 'unknown'].map((uid) => uids.has(uid))).toEqual([
    false,
    true,
    true,
    false,
  ])
})

test('forgets the oldest beyond the limit', () => {
  const cache = aCache()
  const uids = trackDeletedUids(cache, 2)
  for (const uid of ['a', 'b', 'c']) cache.report('deleted', uid)
  expect(['a', 'b', 'c'].map((uid) => uids.has(uid))).toEqual([false, true, true])
})
