import { expect, test } from 'vitest'
import { KubeError } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { createOwned, deleteExact } from './objects.ts'
import { type Source, writeStatus } from './status.ts'

type Status = { worldId?: string; phase?: string }
type Written = KubeObject & { status?: Status }

const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { namespace: 'home', name: 'w', uid: 'u' } }

/** Deletes the pod with a client that responds so. Returns what happened, in order. */
const deleteWith = async (respond: () => Promise<string | undefined>): Promise<unknown[]> => {
  const log: unknown[] = []
  const client = {
    delete: async (...args: unknown[]) => {
      log.push(args)
      return respond()
    },
  }
  const cache = {
    waitForVersion: async (version: string) => {
      log.push(`shows ${version}`)
      return true
    },
  }
  const source = { client, cache } as unknown as Parameters<typeof deleteExact<typeof pod>>[0]
  await deleteExact(source, pod, { gracePeriodSeconds: 5 })
  return log
}
const request = [
  { namespace: 'home', name: 'w' },
  { gracePeriodSeconds: 5, uid: 'u' },
]

test('a deletion ends when the cache shows it, so that no reconcile repeats it', async () => {
  expect(await deleteWith(async () => '7')).toEqual([request, 'shows 7'])
})

test.each([
  ['that is gone already', () => Promise.reject(new KubeError({ message: 'not found', status: 404 }))],
  ['without a version in the response', async () => undefined],
])('a deletion of an object %s waits for nothing', async (_, respond) => {
  expect(await deleteWith(respond)).toEqual([request])
})

const { signal } = new AbortController()

test.each<[string, (source: Source<Written>) => Promise<unknown>]>([
  ['creation', (source) => createOwned(source, pod, { ...pod, spec: {} }, signal)],
  [
    'write of a status',
    (source) => writeStatus<Status, Written>(source, { ...pod, status: {} }, { phase: 'Active' }, signal),
  ],
])('a %s ends when the cache shows it, so that no reconcile repeats it', async (_, write) => {
  const log: string[] = []
  const respond = async (): Promise<object> => ({ ...pod, metadata: { ...pod.metadata, resourceVersion: '7' } })
  const client = { resource: { kind: 'Pod' }, create: respond, applyStatus: respond }
  const shown = Promise.withResolvers<boolean>()
  const cache = {
    waitForVersion: (version: string) => {
      log.push(`waits for ${version}`)
      return shown.promise
    },
  }
  const written = write({ client, cache } as unknown as Source<Written>).then(() => log.push('ended'))
  // All callbacks that are due run before it.
  await new Promise(setImmediate)
  expect(log).toEqual(['waits for 7'])
  shown.resolve(true)
  await written
  expect(log).toEqual(['waits for 7', 'ended'])
})
