import { createHash, randomBytes } from 'node:crypto'
import { kinds, mapKinds } from '#shared/resources/group.ts'

/** The prefix of each kind of identifier. Prefixes are unique. */
export const idPrefixes = {
  ...mapKinds((kind) => kinds[kind].idPrefix),
  organization: 'org',
  project: 'prj',
  launchContext: 'lctx',
  apiKey: 'key',
  token: 'tok',
  run: 'run',
  deployment: 'dep',
  build: 'bld',
  audit: 'aud',
  finding: 'fnd',
  event: 'evt',
  webhook: 'whk',
  delivery: 'dlv',
  message: 'msg',
} as const

/** A kind of entity that has its own identifier. */
export type IdKind = keyof typeof idPrefixes

/** Makes a new identifier: `<prefix>-` and 26 lower-case Crockford base32 characters of a UUIDv7 (RFC 9562, 5.7). */
export type NewId = (kind: IdKind) => string

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const suffixLength = 26
const suffixPattern = `[0-7][${alphabet}]{${suffixLength - 1}}`

/** A regular expression source that matches exactly the identifiers of one kind; usable in JavaScript, RE2 and Postgres. */
export const idPattern = (kind: IdKind): string => `^${idPrefixes[kind]}-${suffixPattern}$`

const patterns = Object.fromEntries(
  (Object.keys(idPrefixes) as IdKind[]).map((kind) => [kind, new RegExp(idPattern(kind))]),
) as Record<IdKind, RegExp>

/** Reports whether `value` is a well-formed identifier of that kind. */
export const isId = (kind: IdKind, value: string): boolean => patterns[kind].test(value)

/**
 * Creates an identifier source. Identifiers of one source sort by creation, also within a millisecond and when the clock steps
 * back: the 12 bits after the timestamp count up (RFC 9562, 6.2, method 1).
 */
export const createIdSource = (options: { now: () => number; random?: (size: number) => Buffer }): NewId => {
  const random = options.random ?? randomBytes
  let lastMs = -1
  let counter = 0
  const tick = (): void => {
    const nowMs = options.now()
    if (nowMs > lastMs) {
      lastMs = nowMs
      counter = random(2).readUInt16BE() & 0x7ff
    } else if (counter < 0xfff) counter += 1
    else {
      lastMs += 1
      counter = 0
    }
  }
  return (kind) => {
    tick()
    const tail = random(8).readBigUInt64BE()
    const uuid =
      (BigInt(lastMs) << 80n) | (0x7n << 76n) | (BigInt(counter) << 64n) | (0b10n << 62n) | (tail & 0x3fffffffffffffffn)
    return `${idPrefixes[kind]}-${encode(uuid)}`
  }
}

/** Returns the id of a run's deployment: `dep-` and the run's characters, so that API and operator derive the same id. */
export const deploymentIdOfRun = (runId: string): string =>
  `${idPrefixes.deployment}-${runId.slice(idPrefixes.run.length + 1)}`

/**
 * Returns the id that follows from a Kubernetes uid: the prefix and the 128 bits of the UUID. Every process derives the same
 * id. A uid that is not a UUID is hashed.
 */
export const idOfUid = (kind: IdKind, uid: string): string => {
  const digits = uid.replaceAll('-', '').toLowerCase()
  const hex = /^[0-9a-f]{32}$/.test(digits) ? digits : createHash('sha256').update(uid).digest('hex').slice(0, 32)
  return `${idPrefixes[kind]}-${encode(BigInt(`0x${hex}`))}`
}

/** The digits of Crockford base32 that differ from those of JavaScript's base 32. */
const crockford = new Map([...'ijklmnopqrstuv'].map((digit, at) => [digit, alphabet.charAt(18 + at)]))

const encode = (value: bigint): string =>
  value
    .toString(32)
    .padStart(suffixLength, '0')
    .replace(/[i-v]/g, (digit) => crockford.get(digit) ?? digit)
