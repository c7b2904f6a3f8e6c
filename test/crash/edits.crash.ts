import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { effective } from '#test/support/faultProxy.ts'
import type { ApiFixture } from './apiFixture.ts'
import { createApiWorker } from './apiWorker.ts'

/** An edit that changes settings in each part of a run, and what a run with it has. */
const edit = {
  runtime: { mapName: 'edited', args: ['edited'], capacity: 10 },
  scaling: { profile: 'Capacity10' },
  networking: { strategy: 'ClusterIP' },
}
const edited = { ...edit.runtime, ...edit.scaling, ...edit.networking }

const startByHand = async (fixture: ApiFixture): Promise<void> => {
  await fixture.editByHand({ state: 'Running' })
  await fixture.phase('Active')
}

/** Starts through each door. */
const starts: readonly { readonly name: string; readonly run: (fixture: ApiFixture) => Promise<unknown> }[] = [
  { name: 'a start with REST', run: (fixture) => fixture.start() },
  { name: 'a start with kubectl', run: startByHand },
  {
    name: 'a World that kubectl creates running',
    run: async (fixture) => {
      await fixture.createByHand({ displayName: 'By hand', state: 'Running' })
      await fixture.phase('Active')
    },
  },
]

const cacheDir = mkdtempSync(join(tmpdir(), 'orrery-crash-'))
let worker: Awaited<ReturnType<typeof createApiWorker>>
beforeAll(async () => {
  worker = await createApiWorker(1, cacheDir)
})
afterAll(async () => {
  await worker?.close()
  rmSync(cacheDir, { recursive: true, force: true })
})

/** A write of the API or the operator, or a commit, before which the World is edited. */
type Place = { readonly writer: 'api' | 'operator' | 'database'; readonly signature: string }

const runStart = async (start: (typeof starts)[number], place?: Place) => {
  const { api, operator, database } = worker.proxies
  const fixture = await worker.createFixture()
  await fixture.create()
  const { namespace } = fixture
  const prepared = [api, operator].map((proxy) => proxy.writes(namespace).length)
  let isEdited = false
  const act = async (): Promise<void> => {
    await fixture.editByHand(edit)
    isEdited = true
  }
  database.begin()
  if (place?.writer === 'database') database.arm({ signature: place.signature, point: 'hold', act })
  else if (place !== undefined) {
    worker.proxies[place.writer].arm({ namespace, signature: place.signature, point: 'hold', act })
  }
  await start.run(fixture)
  await fixture.settled()
  for (const proxy of [api, operator, database]) proxy.disarm()
  const places = [
    ...(['api', 'operator'] as const).flatMap((writer, at) =>
      effective(worker.proxies[writer].writes(namespace).slice(prepared[at])).map(
        ({ signature }): Place => ({ writer, signature }),
      ),
    ),
    ...database.commits().map((signature): Place => ({ writer: 'database', signature })),
  ]
  return { isEdited, settings: await fixture.runningSettings(), places, violations: await fixture.violations() }
}

test.for(starts)('$name runs with the settings before an edit or after it, wherever the edit comes', async (start) => {
  const [first, second] = [await runStart(start), await runStart(start)]
  expect(second.settings).toBe(first.settings)
  const places = first.places.filter((each) =>
    second.places.some(({ writer, signature }) => each.writer === writer && each.signature === signature),
  )
  const seen = new Map<string, number>()
  for (const place of places) {
    const { isEdited, settings, violations } = await runStart(start, place)
    const when = !isEdited ? 'not reached' : settings === first.settings ? 'as before the edit' : 'as after the edit'
    process.stdout.write(`${start.name} x ${place.writer}: ${place.signature}: ${when}\n`)
    expect(violations, place.signature).toEqual([])
    if (!isEdited) continue
    seen.set(settings, (seen.get(settings) ?? 0) + 1)
    if (settings !== first.settings) expect(JSON.parse(settings).run, place.signature).toMatchObject(edited)
  }
  expect(seen.get(first.settings)).toBeGreaterThan(0)
  expect(seen.size).toBeLessThanOrEqual(2)
})
