import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maskedApiKey } from '#api/platform/secrets/apiKey.ts'
import { type ApiProcess, aDatabase, startApi } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { aTenant, type Tenant } from '#test/support/tenant.ts'

/** The strength of a credential: rights in the organization, claims, how long it is valid, and where. */
type Strength = {
  /** The permissions of a key, after the path of the organization. */
  readonly permissions: readonly string[]
  /** The rights that follow from these permissions, listed by hand. */
  readonly rights: readonly string[]
  readonly claims?: readonly string[]
  readonly endsInMinutes?: number
  /** Contains the address of the tests, unless it is empty. */
  readonly networks?: readonly string[]
}

const reading = ['read organization', 'read worlds']
const writing = [...reading, 'write organization', 'write worlds']
const everything = [...writing, 'manage organization', 'manage worlds']
const owner: Strength = { permissions: ['/**:*'], rights: everything }
const loopback = ['127.0.0.0/8', '::1/128']

/** The shapes of keys. Each differs from another in one dimension. */
const shapes: Readonly<Record<string, Strength>> = {
  'an owner': owner,
  'an owner for an hour': { ...owner, endsInMinutes: 60 },
  'an owner for a day': { ...owner, endsInMinutes: 1_440 },
  'an owner on loopback': { ...owner, networks: loopback },
  'an owner on a part of loopback': { ...owner, networks: ['127.0.0.0/16', '::1/128'] },
  'an owner on loopback for an hour': { ...owner, networks: loopback, endsInMinutes: 60 },
  'an owner with createOrganization': { ...owner, claims: ['createOrganization'] },
  'an owner with largeWorlds': { ...owner, claims: ['largeWorlds'] },
  'a manager of the organization': {
    permissions: [':*'],
    rights: ['read organization', 'write organization', 'manage organization'],
  },
  'a manager who reads worlds': {
    permissions: [':*', '/**:r'],
    rights: ['read organization', 'write organization', 'manage organization', 'read worlds'],
  },
  'a writer': { permissions: ['/**:w'], rights: writing },
  'a reader': { permissions: ['/**:r'], rights: reading },
  'a key without permissions': { permissions: [], rights: [] },
}
const names = Object.keys(shapes)
const shapeOf = (name: string): Strength => shapes[name] ?? owner

const manages = ({ rights }: Strength): boolean => rights.includes('manage organization')
const isPartOf = (some: readonly string[], all: readonly string[]): boolean => some.every((each) => all.includes(each))

/** The networks that contain a network of the shapes. */
const wider: Readonly<Record<string, string>> = { '127.0.0.0/16': '127.0.0.0/8' }
const isWithin = (inner: readonly string[] | undefined, outer: readonly string[] | undefined): boolean =>
  outer === undefined || (inner?.every((each) => outer.includes(each) || outer.includes(wider[each] ?? '')) ?? false)

/** Reports whether a key gives nothing that another lacks. */
const isAtMost = (key: Strength, other: Strength): boolean =>
  isPartOf(key.rights, other.rights) &&
  isPartOf(key.claims ?? [], other.claims ?? []) &&
  (key.endsInMinutes ?? Number.POSITIVE_INFINITY) <= (other.endsInMinutes ?? Number.POSITIVE_INFINITY) &&
  isWithin(key.networks, other.networks)

let api: ApiProcess
const startedAtMs = Date.now()
beforeAll(async () => {
  const limits = { ORRERY_LIMIT_REQUESTS_PER_SECOND: '100000', ORRERY_LIMIT_REQUEST_BURST: '100000' }
  api = await startApi({ databaseUrl: await aDatabase(), settings: limits })
})
afterAll(() => api?.stop())

const keys = '/api/organizations/apiKeys/'
/** All fields that make the strength of a key. Null stands for no restriction. */
const fieldsOf = ({ paths }: Tenant, { permissions, claims = [], endsInMinutes, networks }: Strength) => ({
  permissions: permissions.map((each) => `${paths.organization}${each}`),
  claims: Object.fromEntries(claims.map((claim) => [claim, true])),
  expiresAt: endsInMinutes === undefined ? null : new Date(startedAtMs + endsInMinutes * 60_000).toISOString(),
  allowedNetworks: networks ?? null,
})
const withoutNull = (fields: object) => Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null))

type ShownKey = { readonly documentId: string; readonly displayName: string; readonly keyString: string }
let made = 0
/** Creates a key with the platform key. */
const aKeyOf = async (tenant: Tenant, shape: Strength, more: object = {}) => {
  made += 1
  const displayName = `key ${made}`
  const body = { displayName, ...withoutNull(fieldsOf(tenant, shape)), ...more }
  const { status, body: created } = await tenant.rest.call<{ apiKey: string }>('POST', keys, body)
  expect([status, created]).toEqual([200, { apiKey: expect.any(String) }])
  const listed = await tenant.rest.call<ShownKey[]>('GET', keys)
  const id = listed.body.find((each) => each.displayName === displayName)?.documentId ?? ''
  return { id, path: `${keys}${id}/`, keyString: created.apiKey }
}
type MadeKey = Awaited<ReturnType<typeof aKeyOf>>

type Caller = Tenant['rest']
/** An operation on keys that must not give the caller more than it has. */
type Operation = (caller: Caller, options: { own: MadeKey; target: MadeKey; fields: object }) => Promise<number>
const status = async (response: Promise<{ status: number }>): Promise<number> => (await response).status

/** The operations by name. `target` is a key of the shape in question, and `fields` are its fields. */
const operations: Readonly<Record<string, Operation>> = {
  'create such a key': (caller, { fields }) =>
    status(caller.call('POST', keys, { displayName: 'Child', ...withoutNull(fields) })),
  'rename such a key': (caller, { target }) => status(caller.call('PATCH', target.path, { displayName: 'Renamed' })),
  'activate such a key': (caller, { target }) => status(caller.call('PATCH', target.path, { isActive: true })),
  'rotate such a key': (caller, { target }) => status(caller.call('POST', `${target.path}rotate/`, {})),
  'read the string of such a key': async (caller, { target }) => {
    const listed = await caller.call<ShownKey[]>('GET', keys)
    if (listed.status !== 200) return listed.status
    const shown = listed.body.find(({ documentId }) => documentId === target.id)?.keyString
    return shown === maskedApiKey ? 403 : 200
  },
  // Last, because it changes the caller.
  'become such a key': (caller, { own, fields }) => status(caller.call('PATCH', own.path, fields)),
}

describe.each(names)('%s', (caller) => {
  test('creates, changes, activates, rotates and reads only keys that give no more than it has', async () => {
    const tenant = await aTenant(api.url)
    for (const target of names) {
      const options = {
        own: await aKeyOf(tenant, shapeOf(caller)),
        target: await aKeyOf(tenant, shapeOf(target), { isActive: false }),
        fields: fieldsOf(tenant, shapeOf(target)),
      }
      const mayHave = manages(shapeOf(caller)) && isAtMost(shapeOf(target), shapeOf(caller))
      const expected = mayHave ? 200 : expect.toBeOneOf([403, 404])
      for (const [name, operation] of Object.entries(operations)) {
        const rest = createRest(api.url, tenant.scope, options.own.keyString)
        expect([name, target, await operation(rest, options)]).toEqual([name, target, expected])
      }
    }
  })

  test('creates only tokens with permissions that it has, which expire no later than it does', async () => {
    const tenant = await aTenant(api.url)
    const own = await aKeyOf(tenant, { ...shapeOf(caller), endsInMinutes: 30 })
    const rest = createRest(api.url, tenant.scope, own.keyString)
    for (const target of names) {
      const { permissions } = fieldsOf(tenant, shapeOf(target))
      const minted = await rest.call<{ expiresAt: string }>('POST', '/api/users/ann/tokens/', {
        durationMinutes: 60,
        permissions,
      })
      const expected = manages(shapeOf(caller)) && isPartOf(shapeOf(target).rights, shapeOf(caller).rights)
      expect([target, minted.status === 200]).toEqual([target, expected])
      if (expected) expect(Date.parse(minted.body.expiresAt)).toBeLessThanOrEqual(startedAtMs + 30 * 60_000)
    }
  })
})

test('a token with all permissions of an organization does nothing to keys, and creates no tokens', async () => {
  const tenant = await aTenant(api.url)
  const user = await tenant.withToken('ann', [`${tenant.paths.organization}/**:*`])
  for (const target of names) {
    const options = {
      own: await aKeyOf(tenant, owner),
      target: await aKeyOf(tenant, shapeOf(target)),
      fields: fieldsOf(tenant, shapeOf(target)),
    }
    for (const [name, operation] of Object.entries(operations)) {
      expect([name, target, await operation(user, options)]).toEqual([name, target, 403])
    }
    expect((await user.call('DELETE', options.target.path)).status).toBe(403)
    expect((await user.call('POST', '/api/users/ann/tokens/', {})).status).toBe(403)
  }
})

test('a key with the claim bot does nothing to keys, whatever its permissions are', async () => {
  const tenant = await aTenant(api.url)
  const bot = await aKeyOf(tenant, { ...owner, claims: ['bot'] })
  const rest = createRest(api.url, tenant.scope, bot.keyString)
  for (const [name, operation] of Object.entries(operations)) {
    const options = { own: bot, target: await aKeyOf(tenant, owner), fields: fieldsOf(tenant, owner) }
    expect([name, await operation(rest, options)]).toEqual([name, expect.toBeOneOf([403, 404])])
  }
})

test('the replaced string of a rotated key keeps itself valid in no way', async () => {
  const tenant = await aTenant(api.url)
  const key = await aKeyOf(tenant, owner)
  const rest = createRest(api.url, tenant.scope, key.keyString)
  expect((await rest.call('POST', `${key.path}rotate/`, { overlapSeconds: 600 })).status).toBe(200)
  for (const [name, operation] of Object.entries(operations)) {
    const options = { own: key, target: key, fields: fieldsOf(tenant, owner) }
    expect([name, await operation(rest, options)]).toEqual([name, 403])
  }
  const minted = await rest.call<{ expiresAt: string }>('POST', '/api/users/ann/tokens/', { durationMinutes: 60 })
  const { expiresAt } = minted.body
  expect(Date.parse(expiresAt)).toBeLessThanOrEqual(Date.now() + 600_000)
})
