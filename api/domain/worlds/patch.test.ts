import { describe, expect, test } from 'vitest'
import { createIdSource } from '#shared/ids.ts'
import { fc } from '#test/support/fastCheck.ts'
import { buildWorldRows } from './create.ts'
import { applyPatch } from './patch.ts'
import { createWorldBody, type PatchWorld, patchWorldBody } from './schema.ts'
import type { LaunchContextRow, WorldRow } from './table.ts'

/** A world as a create makes it, with the columns that only the database fills. */
const aWorld = (body: object = {}): { world: WorldRow; context: LaunchContextRow } => {
  const input = createWorldBody.parse({ name: 'Lobby', transient: false, ...body })
  const { world, launchContext } = buildWorldRows(input, {
    organizationId: 'org-1',
    projectId: 'prj-1',
    cluster: 'default',
    newId: createIdSource({ now: () => 0 }),
    now: new Date(0),
  })
  return { world: world as WorldRow, context: launchContext }
}
const patch = (from: ReturnType<typeof aWorld>, changes: object) =>
  applyPatch(from.world, from.context, patchWorldBody.parse(changes))

const text = fc.string({ maxLength: 8 })
const map = fc.dictionary(
  text.filter((key) => key !== '' && key !== '__proto__'),
  text,
  { maxKeys: 3 },
)
const list = fc.array(text, { maxLength: 3 })
const changes: fc.Arbitrary<PatchWorld> = fc
  .record(
    {
      name: fc.constantFrom('Foyer', 'Hall'),
      description: text,
      isPublic: fc.boolean(),
      metadata: fc.record({ annotations: map, labels: map }),
      manifest: fc.record({ serverPermissions: list, clientPermissions: list }),
      compute: fc.record({
        group: fc.constantFrom('staging', 'production'),
        region: fc.constantFrom('AsiaPacific', 'Europe'),
      }),
      admission: fc.record({ policy: fc.constantFrom('Open', 'Queued', 'Closed') }),
      networking: fc.record({
        strategy: fc.constantFrom('Default', 'NodePort'),
        scaling: fc.record({ profile: fc.constantFrom('Capacity10', 'Capacity30', 'Capacity60') }),
      }),
      runtime: fc.record({ mapName: text, durationMinutes: fc.integer({ min: 1, max: 99 }) }, { requiredKeys: [] }),
    },
    { requiredKeys: [] },
  )
  .map((body) => patchWorldBody.parse(body))

describe('a PATCH of a world', () => {
  test('keeps absent fields and replaces the fields of the body', () => {
    fc.assert(
      fc.property(changes, changes, (first, second) => {
        const before = aWorld()
        const once = applyPatch(before.world, before.context, first)
        const from = { world: { ...before.world, ...once.world }, context: { ...before.context, ...once.context } }
        const twice = applyPatch(from.world, from.context, second).world
        for (const name of ['name', 'description', 'metadata', 'manifest', 'compute', 'networking'] as const) {
          expect(twice[name]).toEqual(second[name] ?? once.world[name])
        }
        expect(twice.runtime.mapName).toBe((second.runtime ?? once.world.runtime).mapName)
        expect(twice.runtime.durationMinutes).toBe((second.runtime ?? once.world.runtime).durationMinutes)
      }),
    )
  })

  test('is idempotent', () => {
    fc.assert(
      fc.property(changes, (given) => {
        const before = aWorld()
        const once = applyPatch(before.world, before.context, given)
        const from = { world: { ...before.world, ...once.world }, context: { ...before.context, ...once.context } }
        expect(applyPatch(from.world, from.context, given)).toEqual(once)
      }),
    )
  })

  test('keeps admission equal in world, runtime and launch context', () => {
    fc.assert(
      fc.property(changes, (given) => {
        const { world, context } = aWorld()
        const { world: after, context: shown } = applyPatch(world, context, given)
        expect(after.runtime).toMatchObject({
          capacity: after.admission.capacity,
          admissionPolicy: after.admission.policy,
        })
        expect(shown.details).toMatchObject({
          capacity: after.admission.capacity,
          enableQueue: after.admission.policy === 'Queued',
        })
        expect(shown).toMatchObject({ name: after.name, description: after.description })
      }),
    )
  })

  test.each([
    [
      'a capacity equal to the profile’s changes with the profile',
      {},
      { networking: { strategy: 'Default', scaling: { profile: 'Capacity60' } } },
      60,
    ],
    [
      'another capacity stays',
      { admission: { capacity: 7 } },
      { networking: { strategy: 'Default', scaling: { profile: 'Capacity60' } } },
      7,
    ],
    [
      'an admission without a capacity gets the profile’s',
      { admission: { capacity: 7 } },
      { admission: { policy: 'Open' } },
      30,
    ],
    [
      'admission takes precedence over runtime',
      {},
      { admission: { policy: 'Open', capacity: 8 }, runtime: { capacity: 9 } },
      8,
    ],
    [
      'runtime sets the capacity that is absent from admission',
      {},
      { admission: { policy: 'Open' }, runtime: { capacity: 9 } },
      9,
    ],
    ['runtime sets the capacity if admission is absent', {}, { runtime: { capacity: 9 } }, 9],
  ])('%s', (_, body, given, capacity) => {
    const { world } = patch(aWorld(body), given)
    expect([world.admission.capacity, world.runtime.capacity]).toEqual([capacity, capacity])
  })

  test('clears the picture if pictureUrl is empty and keeps it if absent', () => {
    const from = aWorld({ pictureUrl: 'https://example.com/a.png' })
    expect(patch(from, { name: 'Foyer' }).context.pictureUrl).toBe('https://example.com/a.png')
    expect(patch(from, { pictureUrl: '' }).world.pictureUrl).toBeNull()
  })
})
