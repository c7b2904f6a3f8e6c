import { expect, test } from 'vitest'
import { KubeError } from '#shared/kube/errors.ts'
import { deleteExact } from './objects.ts'

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
