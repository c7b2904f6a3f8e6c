import { maxArgsBytes, maxMetadataBytes } from '#shared/domain/common.ts'
import { idleSettings } from '#shared/domain/idle.ts'
import {
  admissionPolicies,
  computeGroups,
  computeRegions,
  networkingStrategies,
  portProtocols,
  queryProtocols,
  worldStates,
} from '#shared/enumerations.ts'
import { scalingProfileNames, scalingProfiles } from '#shared/scalingProfiles.ts'
import { fc } from '#test/support/fastCheck.ts'

// Each generator reaches both sides of each limit. Most values are valid, so that the faults of one field do not hide those of another.

type Arbitrary<T = unknown> = fc.Arbitrary<T>

/** A JSON object, as a client sends it. */
export type Body = Record<string, unknown>

/** One of these with equal chances. */
const oneOf = (...values: readonly unknown[]): Arbitrary => fc.constantFrom(...values)

/** Mostly the first, rarely the second. */
const mostly = (usual: Arbitrary, rare: Arbitrary): Arbitrary =>
  fc.oneof({ weight: 30, arbitrary: usual }, { weight: 1, arbitrary: rare })

/** Mostly undefined. */
const rarely = (arbitrary: Arbitrary): Arbitrary =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })

const letters = ['a', 'é', '語', '🜁', '\u0301']
const wrongTypes = oneOf(null, 7, true, {}, [], 'nonsense')

/** A text of at most `max` code points, with the longest and the shortest ones, and rarely one that is too long. */
const text = (max: number): Arbitrary =>
  mostly(
    fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: Math.min(max, 24) }).filter((each) => [...each].length <= max),
      oneOf('', ' ', '\n', 'a b', '"\\/', '<&>', '__proto__', 'null', '0', '~1/~0', '\u2028', '\u{10ffff}'),
      oneOf(...letters).map((letter) => String(letter).repeat(max)),
    ),
    oneOf('a'.repeat(max + 1), '🜁'.repeat(max + 1), '\u0000', 'a\u0000b', '\ud800', null, 7, {}),
  )

const name = (): Arbitrary => mostly(oneOf('Lobby', 'ab', '語語', '🜁🜁', 'L'.repeat(64), ' a', 'a\tb'), text(64))

const args = (): Arbitrary => {
  const filled = (bytes: number, arg: string) => [
    ...Array.from({ length: Math.floor(bytes / arg.length) }, () => arg),
    arg.slice(0, bytes % arg.length),
  ]
  return mostly(
    fc.oneof(
      fc.array(text(40), { maxLength: 5 }),
      oneOf(Array(64).fill('-a'), filled(maxArgsBytes, 'x'.repeat(4_096)), ['語'.repeat(4_096)], ['$(HOME)', '']),
    ),
    oneOf(Array(65).fill('-a'), filled(maxArgsBytes + 1, 'x'.repeat(4_096)), Array(2).fill('語'.repeat(2_731)), null, [
      'a'.repeat(4_097),
    ]),
  )
}

/** A map of `entries` keys of `keyLength` characters, whose values have the rest of `bytes`. */
const mapOf = ({ entries = 8, bytes = maxMetadataBytes, keyLength = 8, letter = 'k' }): Record<string, string> => {
  const width = Buffer.byteLength(letter)
  const keys = Array.from({ length: entries }, (_, at) => String(at).padStart(keyLength, letter))
  const keyBytes = keys.reduce((sum, key) => sum + Buffer.byteLength(key), 0)
  const each = Math.floor((bytes - keyBytes) / entries / width)
  const rest = bytes - keyBytes - each * width * entries
  return Object.fromEntries(keys.map((key, at) => [key, letter.repeat(each) + (at === 0 ? 'x'.repeat(rest) : '')]))
}

/** An object with any own keys, also __proto__. */
export const withKeys = (...entries: readonly (readonly [string, unknown])[]): Body =>
  JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join()}}`) as Body

const textMap = (): Arbitrary =>
  mostly(
    fc.oneof(
      fc.dictionary(fc.string({ minLength: 1, maxLength: 12, unit: 'grapheme' }), text(30), { maxKeys: 4 }),
      oneOf(
        {},
        withKeys(['__proto__', 'a'], ['constructor', 'b'], ['a/b~c', 'd'], ['.', '']),
        withKeys(['🜁'.repeat(256), '語'.repeat(4_096)]),
        mapOf({ entries: 256, bytes: 4_096 }),
        mapOf({ entries: 8, bytes: maxMetadataBytes }),
        mapOf({ entries: 100, bytes: maxMetadataBytes / 2, letter: '語' }),
      ),
    ),
    oneOf(
      withKeys(['', 'a']),
      withKeys(['k'.repeat(257), 'a']),
      withKeys(['a', 'x'.repeat(4_097)]),
      withKeys(['a', null]),
      mapOf({ entries: 257, bytes: 4_096 }),
      mapOf({ entries: 9, bytes: maxMetadataBytes + 1 }),
      null,
    ),
  )

const metadata = (): Arbitrary => someOf({ annotations: textMap(), labels: textMap() })

const duration = (): Arbitrary =>
  mostly(
    fc.oneof(
      oneOf(1, 0.5, 1e-7, 5e-324, 1e-300, 0.1 + 0.2, 1 / 3, 5_256_000, 5_255_999.999999999),
      fc.double({ min: 1e-9, max: 5_256_000, noNaN: true, minExcluded: true }),
    ),
    oneOf(0, -1, 5_256_000.000001, 1e300, null, '1'),
  )

const profile = (): Arbitrary => mostly(oneOf(...scalingProfileNames), oneOf('Capacity31', '', null, 'capacity10'))

const capacity = (): Arbitrary => {
  const numbers = Object.values(scalingProfiles).map(({ capacity }) => capacity)
  return mostly(oneOf(1, 2, 9, ...numbers), oneOf(0, -1, 11, 10_001, 1.5, 1e30, null, '10'))
}

const strategy = (): Arbitrary => mostly(oneOf(...networkingStrategies), wrongTypes)

/** A list of ports, mostly with different names and numbers. */
const ports = (): Arbitrary => {
  const exposures = oneOf('Public', 'Public', 'Public', 'Internal', undefined)
  const portOf = (names: Arbitrary, numbers: Arbitrary, protocols: Arbitrary) => {
    const fields = { name: names, containerPort: numbers, protocol: protocols, expose: exposures }
    const port = fc.record(fields, { requiredKeys: ['name', 'containerPort'], noNullPrototype: true })
    return fc.tuple(port, hostPort).map((parts): Body => Object.assign({}, ...parts))
  }
  const hostPort: Arbitrary<Body> = fc.oneof(
    { weight: 20, arbitrary: fc.constant({}) },
    {
      weight: 2,
      arbitrary: fc.constantFrom<Body>(
        { policy: 'Passthrough' },
        { policy: 'Dynamic', range: 'default' },
        { range: 'default' },
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom<Body>(
        { policy: 'Static' },
        { policy: 'Static', hostPort: 7000 },
        { policy: 'Static', range: 'default', hostPort: 65_536 },
        { hostPort: 0 },
        { range: 'other' },
        { range: 'static' },
        { range: 'Default' },
        { policy: 'dynamic' },
        { policy: null, range: null, hostPort: null },
      ),
    },
  )
  const protocols = oneOf(...portProtocols)
  const valid = portOf(oneOf('game', 'web', 'a', 'rcon-tls', 'p'.repeat(15)), oneOf(1, 7777, 9000, 65_535), protocols)
  const invalid = portOf(
    oneOf('game', '', 'Game', 'a-', '1a', 'p'.repeat(16)),
    oneOf(9000, 0, 8080, 65_536, 1.5, null, '7777', undefined),
    fc.oneof(protocols, wrongTypes),
  )
  const isLike = (one: Body, other: Body): boolean => {
    const isDifferent = [one.protocol, other.protocol].sort().join() === 'TCP,UDP'
    return one.name === other.name || (one.containerPort === other.containerPort && !isDifferent)
  }
  return mostly(
    fc.uniqueArray(valid, { minLength: 1, maxLength: 4, comparator: isLike }),
    fc.oneof(fc.array(fc.oneof(valid, invalid), { maxLength: 9 }), wrongTypes),
  )
}

/** The query of a server, mostly at the port of a world without `ports`. */
const query = (): Arbitrary =>
  someOf({
    protocol: mostly(oneOf(...queryProtocols), oneOf('Quake', null)),
    port: mostly(oneOf(7777, 7777, 7777, 8080, 9000, 1), oneOf(0, 65_536, 1.5, null, '7777')),
    timeoutSeconds: mostly(oneOf(1, 2, 5), oneOf(0, 6, 1.5, null)),
  })

/** The settings of sleep and wake. */
const idle = () => ({
  idleStopMinutes: mostly(oneOf(1, 15, 60, 43_199, 43_200), oneOf(0, -1, 43_201, 0.5, 1e30, null, '15')),
  wakeOnAccess: mostly(oneOf(...idleSettings.wakeOnAccess.unwrap().options), oneOf('access', '', null, true)),
})

/** The fields of cron. None of the valid ones is due soon. */
const cron = (): Arbitrary =>
  mostly(
    oneOf('0 18 29 2 *', '*/15 8-18/2 29 FEB *', '5,35 9 29 feb *', `${'0,'.repeat(44)}0 00 29 2 *`),
    oneOf('', '@daily', '60 0 29 2 *', '0 0 30 2 *', '0 0 29 2', '0 0 29 2 * *', '0 0 L 2 *', '0'.repeat(101), null, 7),
  )

/** A schedule, mostly with an action. */
const schedule = (): Arbitrary => {
  const restart = fc.record(
    {
      at: cron(),
      whenEmptyWithinMinutes: mostly(oneOf(1, 60, 1_440), oneOf(0, 1_441, 0.5, null, '15')),
    },
    { requiredKeys: ['at'], noNullPrototype: true },
  )
  const timeZone = mostly(
    oneOf('UTC', 'utc', 'Europe/Berlin', 'Etc/GMT+5'),
    oneOf('Europe/Atlantis', '+01:00', '', 'E'.repeat(65), null),
  )
  return mostly(
    fc.record({ timeZone, start: cron(), stop: cron(), restart }, { requiredKeys: ['start'], noNullPrototype: true }),
    oneOf({}, { timeZone: 'UTC' }, { restart: {} }, [], null),
  )
}

const place = { group: oneOf(...computeGroups), region: oneOf(...computeRegions) }

/** An object with some of these fields. Rarely it is null, an empty object or no object. */
const someOf = (fields: Record<string, Arbitrary>): Arbitrary =>
  fc.oneof(
    { weight: 30, arbitrary: bodyOf(fields) },
    { weight: 4, arbitrary: fc.constant({}) },
    { weight: 1, arbitrary: oneOf(null, [], 'nonsense') },
  )

const image = (): Arbitrary =>
  mostly(
    oneOf('registry.example/server:1', 'registry.example/a@sha256:b', `registry.example/${'a'.repeat(1_007)}`),
    oneOf('', ' ', '10.0.0.1/a', 'nginx', 'localhost/a', `registry.example/${'a'.repeat(1_008)}`, null, '\u0000'),
  )

/** An object with some of these fields. */
const bodyOf = (fields: Record<string, Arbitrary>): Arbitrary<Body> =>
  fc.record(fields, { requiredKeys: [], noNullPrototype: true })
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The spec of a World as a user of kubectl may write it. */
export const worldSpec = (): Arbitrary<Body> =>
  bodyOf({
    displayName: name(),
    description: text(256),
    state: mostly(oneOf(...worldStates), oneOf('Paused', null, '')),
    transient: mostly(oneOf(true, false), wrongTypes),
    durationMinutes: duration(),
    ...idle(),
    schedule: schedule(),
    nextAction: rarely(oneOf({ what: 'stop', at: '2020-01-01T00:00:00Z' }, { what: 'wake' }, null)),
    scaling: someOf({ profile: profile() }),
    compute: someOf(place),
    networking: someOf({ strategy: strategy(), ports: ports() }),
    runtime: someOf({
      image: image(),
      contentId: text(256),
      mapName: text(256),
      query: query(),
      capacity: capacity(),
      probes: mostly(oneOf(true, false), wrongTypes),
      args: args(),
    }),
    metadata: metadata(),
    revision: rarely(oneOf(0, 1, 7)),
    runId: rarely(oneOf('', 'run-1')),
  })

/** A quantity of a bot. `valid` are those below the limit of a scaling profile. */
const quantity = (valid: readonly string[]): Arbitrary =>
  mostly(oneOf(...valid), oneOf('0', '0m', '1e3', '-1', '', '1.2345', `${'1'.repeat(33)}`, '9'.repeat(20), null, 1))

const botSettings = () => ({
  count: mostly(fc.integer({ min: 0, max: 3 }), oneOf(31, 10_000, 10_001, -1, 1.5, null)),
  cpu: quantity(['1', '1m', '0.5', '100m', '1.', '0.001', '0500m']),
  memory: quantity(['1', '1k', '128Mi', '1.5Gi', '0.5Gi', '4Gi', '0.0000001k', '999.999M', '4294967296']),
  args: args(),
  durationMinutes: duration(),
  metadata: metadata(),
})

/** The spec of a BotDeployment of a world as a user of kubectl may write it. */
export const botSpec = (worldName: string): Arbitrary<Body> =>
  fc
    .tuple(
      bodyOf({ ...botSettings(), description: text(2_048) }),
      mostly(oneOf(worldName), oneOf('', 'absent', 'w'.repeat(254), null)),
    )
    .map(([spec, name]) => ({ count: 1, worldName: name, ...spec }))

/** The body of `POST /api/worlds/{worldId}/bots/`. */
export const createBotsBody = (): Arbitrary<Body> =>
  bodyOf({ ...botSettings(), description: text(2_048) }).map((body) => ({ count: 1, ...body }))

/** The body of `PATCH /api/worlds/{worldId}/bots/{botDeploymentId}/`. */
export const patchBotsBody = (): Arbitrary<Body> => bodyOf(botSettings()).map((body) => ({ count: 2, ...body }))

const restWorld = () => ({
  name: name(),
  description: text(256),
  metadata: someOf({ annotations: textMap(), labels: textMap() }),
  admission: someOf({ policy: oneOf(...admissionPolicies), capacity: capacity() }),
  compute: someOf({ ...place, version: text(256) }),
  networking: someOf({
    strategy: strategy(),
    ports: ports(),
    scaling: someOf({ profile: profile(), configuration: oneOf(null) }),
  }),
  runtime: someOf({
    mapName: text(256),
    query: query(),
    durationMinutes: duration(),
    ...idle(),
    schedule: schedule(),
    capacity: capacity(),
  }),
  manifest: someOf({ serverPermissions: oneOf([], ['a']), clientPermissions: oneOf([], ['语']) }),
})

/** The body of `POST /api/worlds/`. */
export const createWorldBody = (): Arbitrary<Body> =>
  bodyOf({ ...restWorld(), transient: oneOf(true, false) }).map((body) => ({
    name: 'Lobby',
    transient: false,
    ...body,
  }))

/** The body of `PATCH /api/worlds/{worldId}/`. It contains the fields that an object must have, if it contains the object. */
export const patchWorldBody = (): Arbitrary<Body> =>
  bodyOf({ ...restWorld(), isPublic: oneOf(true, false) }).map((body) => ({
    ...body,
    ...(isObject(body.compute) ? { compute: { group: 'staging', region: 'Europe', ...(body.compute as Body) } } : {}),
    ...(isObject(body.metadata) ? { metadata: { annotations: {}, labels: {}, ...(body.metadata as Body) } } : {}),
    ...(isObject(body.admission) ? { admission: { policy: 'Open', ...(body.admission as Body) } } : {}),
    ...(isObject(body.networking) ? { networking: wholeNetworking(body.networking as Body) } : {}),
  }))

const wholeNetworking = ({ strategy = 'Default', scaling, ...rest }: Body): Body => ({
  ...rest,
  strategy,
  scaling: isObject(scaling) ? { profile: 'Capacity60', configuration: null, ...(scaling as Body) } : scaling,
})
