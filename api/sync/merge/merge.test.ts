import { describe, expect, test } from 'vitest'
import { buildWorldRows } from '#api/domain/worlds/create.ts'
import { createWorldBody } from '#api/domain/worlds/schema.ts'
import type { WorldRow } from '#api/domain/worlds/table.ts'
import { desiredSpec } from '#api/sync/rows/desired.ts'
import { noBotUse } from '#shared/domain/botUse.ts'
import { noUse } from '#shared/domain/runUse.ts'
import { createIdSource } from '#shared/ids.ts'
import { type BotDeploymentSpec, botDeploymentSpecSchema } from '#shared/resources/botDeployment.ts'
import { type WorldSpec, worldSpecSchema } from '#shared/resources/world.ts'
import { scalingProfiles } from '#shared/scalingProfiles.ts'
import { isStorable } from '#shared/storable.ts'
import { fc } from '#test/support/fastCheck.ts'
import { mergeBots } from './bots.ts'
import { type Leaves, leavesOf, nameOf, objectOf, toMergePatch } from './leaves.ts'
import type { Merge, Sides } from './merge.ts'
import { findBase } from './merge.ts'
import { freeFacts } from './testing/facts.ts'
import { toWorldColumns } from './world.ts'
import { mergeWorld, type WorldFacts } from './worldRules.ts'

const newId = createIdSource({ now: () => 0 })
const runIds = [newId('run'), newId('run')]
const facts: WorldFacts = {
  ...freeFacts,
  limits: {
    imageRegistries: ['*'],
    maxWorldCapacity: 500,
    hostPorts: false,
    maxRunningCapacity: 100,
    maxNodePorts: 2,
    maxLoadBalancers: 1,
  },
  others: { ...noUse, capacity: 50, nodePorts: 2 },
  bots: { live: 20, largest: noBotUse },
  hasCluster: ({ region }) => region !== 'AsiaPacific',
}
const botFacts = {
  otherBots: 0,
  profile: scalingProfiles.Capacity10000,
  otherUse: noBotUse,
  limits: { maxBotCpu: Infinity, maxBotMemory: Infinity },
}
const noBuild = { resolvedBuild: null, program: {}, runtime: {} }

const aKey = fc.constantFrom('a', 'b', 'a/b', 'c~d', '__proto__', 'x.y')
const aMap = fc.dictionary(aKey, fc.constantFrom('1', '2'), { maxKeys: 3 })
const someOf = <T>(...values: T[]) => fc.constantFrom(...values)
/** Few values for each field, so that two sides often agree and often differ. */
const aWorldSpec: fc.Arbitrary<WorldSpec> = fc
  .record(
    {
      displayName: someOf('Lobby', 'Foyer', 'x', ''),
      description: someOf('', 'One', 'Two'),
      state: someOf('Running', 'Stopped'),
      run: someOf(...runIds),
      transient: fc.boolean(),
      durationMinutes: someOf(1, 2.5),
      profile: someOf('Capacity10', 'Capacity30', 'Capacity250', 'Capacity1500'),
      region: someOf('Europe', 'AsiaPacific'),
      strategy: someOf('Default', 'NodePort'),
      image: someOf('a', 'b'),
      capacity: someOf(5, 10),
      args: fc.array(someOf('x', 'y'), { maxLength: 2 }),
      labels: aMap,
      annotations: aMap,
    },
    { requiredKeys: ['displayName', 'description', 'state', 'transient', 'labels', 'annotations', 'args'] },
  )
  .map(({ run, profile, region, strategy, image, capacity, args, labels, annotations, ...spec }) =>
    worldSpecSchema.parse({
      ...spec,
      ...(run && { runId: run, startedAt: '2026-01-01T00:00:00.000Z' }),
      ...(profile && { scaling: { profile } }),
      ...(region && { compute: { region } }),
      ...(strategy && { networking: { strategy } }),
      runtime: { ...(image && { image }), ...(capacity && { capacity }), args },
      metadata: { labels, annotations },
    }),
  )
const aBotSpec: fc.Arbitrary<BotDeploymentSpec> = fc
  .record(
    {
      worldName: fc.constant('wld-1'),
      count: someOf(0, 5, 50),
      description: someOf('', 'One'),
      cpu: someOf('100m', '1'),
      args: fc.array(someOf('x', 'y'), { maxLength: 2 }),
      durationMinutes: someOf(1, 2),
      metadata: fc.record({ labels: aMap, annotations: aMap }),
    },
    { requiredKeys: ['worldName', 'count'] },
  )
  .map((spec) => botDeploymentSpecSchema.parse(spec))

type Kind<Spec extends object> = {
  readonly spec: fc.Arbitrary<Spec>
  readonly merge: (sides: Sides<Spec>) => Merge<Spec>
  readonly mergeFreely: (sides: Sides<Spec>) => Merge<Spec>
  /** A live spec as the merge reads it. */
  readonly read: (base: Spec, live: Spec) => Spec
}
const worlds: Kind<WorldSpec> = {
  spec: aWorldSpec,
  merge: (sides) => mergeWorld(sides, noBuild, facts),
  mergeFreely: (sides) => mergeWorld(sides, noBuild, freeFacts),
  // A run that is absent in the resource is no edit.
  read: (base, live) => {
    const { runId, startedAt } = base
    if (live.runId !== undefined || runId === undefined || startedAt === undefined) return live
    return { ...live, runId, startedAt }
  },
}
const bots: Kind<BotDeploymentSpec> = {
  spec: aBotSpec,
  merge: (sides) =>
    mergeBots(sides, {
      ...botFacts,
      profile: scalingProfiles.Capacity10,
      limits: { maxBotCpu: 2, maxBotMemory: Infinity },
    }),
  mergeFreely: (sides) => mergeBots(sides, botFacts),
  read: (_, live) => live,
}

/** The maps of a spec are no leaves while they are empty. */
const asLeaves = (spec: object): Leaves => leavesOf(spec)
const leafOf = (spec: object, pointer: string): unknown => JSON.stringify(asLeaves(spec).get(pointer))
const pointersOf = (...specs: object[]): string[] => [...new Set(specs.flatMap((spec) => [...asLeaves(spec).keys()]))]

const describeMerge = <Spec extends object>(title: string, { spec, merge, mergeFreely, read }: Kind<Spec>): void => {
  describe(`the merge of ${title}`, () => {
    const sides = fc.record({ base: spec, row: spec, live: spec, unreadable: fc.constant([]) })

    test('keeps each edit of the row', () => {
      fc.assert(
        fc.property(sides, ({ base, row, live, unreadable }) => {
          const merged = merge({ base, row, live, unreadable })
          for (const pointer of pointersOf(base, row)) {
            if (leafOf(base, pointer) !== leafOf(row, pointer)) {
              expect(leafOf(merged.spec, pointer)).toBe(leafOf(row, pointer))
            }
          }
        }),
      )
    })

    test('adopts or refuses each edit that only the resource has, and leaves nothing else', () => {
      fc.assert(
        fc.property(sides, ({ base, row, live: raw, unreadable }) => {
          const live = read(base, raw)
          const merged = merge({ base, row, live: raw, unreadable })
          for (const pointer of pointersOf(base, row, live)) {
            const [was, own, now, after] = [base, row, live, merged.spec].map((each) => leafOf(each, pointer))
            const isOneSided = now !== was && own === was
            if (after === own && isOneSided) expect(merged.putBack).toContain(pointer)
            else expect(after).toBe(isOneSided ? now : own)
          }
          expect(merged.reasons.length === 0).toBe(
            merged.putBack.every((pointer) => leafOf(row, pointer) !== leafOf(base, pointer)),
          )
        }),
      )
    })

    test('is idempotent: the acknowledged resource has no edits', () => {
      fc.assert(
        fc.property(sides, ({ base, row, live, unreadable }) => {
          const first = merge({ base, row, live, unreadable })
          const again = merge({ base: read(base, live), row: first.spec, live: read(base, live), unreadable })
          expect(again).toMatchObject({ adopted: [], putBack: [], reasons: [] })
          expect(asLeaves(again.spec)).toEqual(asLeaves(first.spec))
        }),
      )
    })

    test('converges: after the push both sides are equal', () => {
      fc.assert(
        fc.property(sides, ({ base, row, live, unreadable }) => {
          const merged = merge({ base, row, live, unreadable })
          const pushed = merged.spec
          const after = merge({ base: pushed, row: merged.spec, live: pushed, unreadable })
          expect(after).toMatchObject({ adopted: [], putBack: [], reasons: [] })
        }),
      )
    })

    test('does not depend on the order of edits of different fields', () => {
      fc.assert(
        fc.property(fc.record({ base: spec, live: spec, next: spec }), ({ base, live, next }) => {
          const unreadable = [] as const
          const late = mergeFreely({ base, row: base, live: read(base, next), unreadable })
          const early = mergeFreely({ base, row: base, live: read(base, live), unreadable })
          const then = mergeFreely({ base: read(base, live), row: early.spec, live: read(base, next), unreadable })
          const refused = new Set([...late.putBack, ...early.putBack, ...then.putBack])
          for (const pointer of pointersOf(base, live, next)) {
            if (refused.has(pointer)) continue
            expect(leafOf(then.spec, pointer)).toBe(leafOf(late.spec, pointer))
          }
        }),
      )
    })
  })
}
describeMerge('Worlds', worlds)
describeMerge('BotDeployments', bots)

test('an adopted spec is what the row then shows', () => {
  const aRow = (): { world: WorldRow; context: ReturnType<typeof buildWorldRows>['launchContext'] } => {
    const { world, launchContext } = buildWorldRows(createWorldBody.parse({ name: 'Lobby', transient: false }), {
      organizationId: newId('organization'),
      projectId: newId('project'),
      cluster: 'default',
      newId,
      now: new Date(0),
    })
    const columns = {
      granted: null,
      resolvedBuild: null,
      runId: null,
      startedAt: null,
      state: 'Stopped',
      program: {},
      revision: 1,
    }
    return { world: { ...world, ...columns } as WorldRow, context: launchContext }
  }
  fc.assert(
    fc.property(aWorldSpec, (live) => {
      const { world, context } = aRow()
      const base = desiredSpec(world)
      const { spec } = mergeWorld({ base, row: base, live, unreadable: [] }, noBuild, facts)
      const columns = toWorldColumns(world, context, spec)
      const after = desiredSpec({ ...world, ...columns.world, state: spec.state })
      // REST has no unset capacity: it is that of the profile.
      const capacity = spec.runtime.capacity ?? after.runtime.capacity
      expect(leavesOf(after)).toEqual(leavesOf({ ...spec, runtime: { ...spec.runtime, capacity } }))
      expect(columns.context.name).toBe(spec.displayName)
    }),
  )
})

test('puts the image back where REST names a build, and keeps it otherwise', () => {
  const row = worldSpecSchema.parse({ displayName: 'Lobby' })
  const live = worldSpecSchema.parse({ displayName: 'Lobby', runtime: { image: 'own:1', args: ['--own'] } })
  const sides = { base: row, row, live, unreadable: [] }
  const build = { ...noBuild, runtime: { build: { channelId: 'main', tag: 'stable' } } }
  const refused = mergeWorld(sides, build, facts)
  expect(refused.adopted).toEqual(['/runtime/args'])
  expect(refused.reasons).toEqual([
    'spec.runtime.image was put back: the program comes from the build that REST names.',
  ])
  expect(mergeWorld(sides, noBuild, facts).spec.runtime).toMatchObject({ image: 'own:1', args: ['--own'] })
})

test.each([true, false])(
  'adopts the strategy Route if the platform has a Gateway (%s), and else puts it back',
  (offersRoutes) => {
    const row = worldSpecSchema.parse({})
    const live = worldSpecSchema.parse({ description: 'One', networking: { strategy: 'Route' } })
    const merged = mergeWorld({ base: row, row, live, unreadable: [] }, noBuild, { ...freeFacts, offersRoutes })
    expect(merged.adopted).toEqual(['/description', ...(offersRoutes ? ['/networking/strategy'] : [])])
    const reason = expect.stringMatching(
      /^spec.networking.strategy was put back: the networking strategy Route needs a/,
    )
    expect(merged.reasons).toEqual(offersRoutes ? [] : [reason])
  },
)

describe('a start', () => {
  const stopped = worldSpecSchema.parse({ runtime: { image: 'allowed.example/old:1' } })
  const start = (row: Parameters<typeof mergeWorld>[1], changes: Partial<WorldFacts>, spec: object = {}) => {
    const live = worldSpecSchema.parse({ ...stopped, state: 'Running', ...spec })
    const limits = { ...freeFacts.limits, imageRegistries: ['allowed.example'] }
    const sides = { base: stopped, row: stopped, live, unreadable: [] }
    return mergeWorld(sides, row, { ...freeFacts, limits, ...changes })
  }
  const build = { channelId: 'main', tag: 'stable', id: 'b', organizationId: 'o', contentId: 'c', probes: true }
  const lastBuild = { ...build, image: 'allowed.example/old:1' }

  test('is refused by the image that it would run, which may not be that of the last build', () => {
    const row = { ...noBuild, resolvedBuild: lastBuild }
    expect(start(row, {}).adopted).toEqual(['/state'])
    const other = start({ ...row, program: { image: 'other.example/server:1' } }, {})
    expect(other.reasons).toEqual([expect.stringContaining('spec.state was put back: the image other.example')])
    const next = start(row, { build: { ...build, image: 'other.example/next:1' } })
    expect(next.reasons).toEqual([expect.stringContaining('the image other.example/next:1 is not from')])
  })

  test('is refused by a build that cannot be found, and by a size that the organization may not have', () => {
    expect(start(noBuild, { build: 'No build.' }).reasons).toEqual(['spec.state was put back: No build.'])
    const limits = { ...freeFacts.limits, maxWorldCapacity: 10 }
    expect(start(noBuild, { limits }).reasons).toEqual([expect.stringContaining('maxWorldCapacity')])
  })

  test('is refused by a strategy that the platform no longer offers', () => {
    const row = worldSpecSchema.parse({ networking: { strategy: 'Route' } })
    const live = { ...row, state: 'Running' } as const
    const sides = { base: row, row, live, unreadable: [] }
    const { adopted, reasons } = mergeWorld(sides, noBuild, { ...freeFacts, offersRoutes: false })
    expect([adopted, reasons]).toEqual([[], [expect.stringContaining('Route needs a Gateway')]])
    expect(mergeWorld(sides, noBuild, freeFacts).adopted).toEqual(['/state'])
  })

  test('is refused beside another refused edit, and a stop is not', () => {
    const image = { runtime: { image: 'other.example/server:1' } }
    expect(start(noBuild, {}, image).adopted).toEqual([])
    const running = worldSpecSchema.parse({ state: 'Running' })
    const live = worldSpecSchema.parse({ ...image, state: 'Stopped' })
    const limits = { ...freeFacts.limits, imageRegistries: ['allowed.example'] }
    const sides = { base: running, row: running, live, unreadable: [] }
    expect(mergeWorld(sides, noBuild, { ...freeFacts, limits }).adopted).toEqual(['/state'])
  })
})

test('puts back metadata and arguments that make the spec too large as JSON, and lets a large spec become smaller', () => {
  // JSON escapes each character with five more.
  const escaped = Array.from({ length: 4 }, () => '\u0001'.repeat(4_096))
  const withLabels = (labels: Record<string, string>) => worldSpecSchema.parse({ metadata: { labels } })
  const row = worldSpecSchema.parse({})
  const large = withLabels(Object.fromEntries(escaped.entries()))
  const refused = mergeWorld({ base: row, row, live: large, unreadable: [] }, noBuild, facts)
  expect(refused.adopted).toEqual([])
  expect(refused.reasons).toEqual([expect.stringContaining('the spec would have more than 61440 bytes as JSON')])
  const args = worldSpecSchema.parse({ runtime: { args: escaped } })
  expect(mergeWorld({ base: row, row, live: args, unreadable: [] }, noBuild, facts).spec.runtime.args).toEqual([])
  const smaller = withLabels(Object.fromEntries(escaped.slice(1).entries()))
  expect(mergeWorld({ base: large, row: large, live: smaller, unreadable: [] }, noBuild, facts).spec).toEqual(smaller)
})

test('puts back metadata that exceeds the limit of the definition only together with that of the row', () => {
  const half = 'x'.repeat(3_000)
  const many = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`k${at}`, half]))
  for (const [schema, merge, required] of [
    [worldSpecSchema, worlds.mergeFreely, {}],
    [botDeploymentSpecSchema, bots.mergeFreely, { worldName: 'wld-1', count: 0 }],
  ] as const) {
    const spec = (metadata: object) => schema.parse({ ...required, metadata })
    const [base, row, live] = [spec({}), spec({ labels: many }), spec({ annotations: many })]
    const { adopted, reasons } = (merge as (sides: Sides<typeof base>) => Merge<typeof base>)({
      base,
      row,
      live,
      unreadable: [],
    })
    expect(adopted.length).toBeLessThan(6)
    expect(reasons).toEqual([expect.stringContaining('must have at most 32768 bytes')])
  }
})

test('without a record of the push, fields that the API manages are as it wrote them', () => {
  const applied = worldSpecSchema.parse({ displayName: 'One', revision: 1 })
  const row = worldSpecSchema.parse({ displayName: 'Three', revision: 3 })
  const live = worldSpecSchema.parse({ displayName: 'Two', description: 'By kubectl', revision: 2 })
  expect(findBase({ live, row, applied }, undefined)).toBeUndefined()
  const base = findBase({ live, row, applied }, (pointer) => pointer !== '/description')
  expect(base).toMatchObject({ displayName: 'Two', description: '' })
})

test('objects and their leaves are the same, whatever the names', () => {
  fc.assert(
    fc.property(fc.dictionary(aKey, aMap), (object) => {
      expect(leavesOf(objectOf(leavesOf(object)))).toEqual(leavesOf(object))
    }),
  )
  expect(nameOf('/runtime/image')).toBe('spec.runtime.image')
  expect(nameOf('/metadata/labels/a~1b')).toBe('spec.metadata.labels["a/b"]')
})

test.each(['a\0b', `${'k'.repeat(63)}🌍k`])('the name of the leaf with the key %j can be stored', (key) => {
  expect(isStorable(nameOf(`/metadata/labels/${key}`))).toBe(true)
})

test('a merge patch removes what only the resource has, and otherwise there is none', () => {
  const live = { a: 1, runtime: { image: 'x', args: [] }, metadata: { labels: { k: 'v' } } }
  const wanted = { a: 2, runtime: { args: [] }, metadata: { labels: {} } }
  expect(toMergePatch(live, wanted)).toEqual({
    a: 2,
    runtime: { image: null, args: [] },
    metadata: { labels: { k: null } },
  })
  expect(toMergePatch({ a: 1 }, wanted)).toBeUndefined()
})
