import { expect, test } from 'vitest'
import type { World } from '#shared/resources/world.ts'
import type { PullDeps } from './pullDeps.ts'
import { pullWorld } from './pullWorld.ts'

const key = 'orrery-org-1/wld-1'

/** Returns the keys that pull reports for a World whose row needs no change. */
const reportedBy = async (live: World | undefined): Promise<string[]> => {
  const reported: string[] = []
  const unused = new Error('The rest of pull needs a database.')
  const deps = {
    reported: (each: string) => void reported.push(each),
    echoes: { has: async () => true, pulled: () => undefined },
    findings: { forget: () => Promise.reject(unused) },
  } as unknown as PullDeps
  await expect(pullWorld(deps, key, live)).rejects.toBe(unused)
  return reported
}

const aWorld = (revision: number | undefined, observedRevision: number | undefined) =>
  ({
    metadata: { name: 'wld-1', namespace: 'orrery-org-1' },
    spec: { revision },
    ...(observedRevision === undefined ? {} : { status: { observedRevision } }),
  }) as World

test('a start no longer waits when its World has the status of its spec, or is gone', async () => {
  expect(await reportedBy(aWorld(7, 7))).toEqual([key])
  expect(await reportedBy(undefined)).toEqual([key])
})

test('a start waits while its World has no status, or that of an earlier spec', async () => {
  expect(await reportedBy(aWorld(7, 6))).toEqual([])
  expect(await reportedBy(aWorld(7, undefined))).toEqual([])
  expect(await reportedBy(aWorld(undefined, undefined))).toEqual([])
})
