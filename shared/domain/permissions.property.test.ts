import { expect, test } from 'vitest'
import { fc } from '#test/support/fastCheck.ts'
import { mayGrant, readableWorlds, strongestVerb, strongestVerbBeneath, type Verb } from './permissions.ts'

const strength = (verb: Verb | undefined): number => (verb === undefined ? 0 : ['r', 'w', '*'].indexOf(verb) + 1)

// Few ids, so that the scopes of different permissions overlap.
const id = fc.constantFrom('1', '2', '11')
const scope = fc
  .tuple(id, fc.option(fc.tuple(id, fc.option(id))))
  .map(([organization, beneath]) =>
    [
      `organizations/org-${organization}`,
      ...(beneath ? [`projects/prj-${beneath[0]}`] : []),
      ...(beneath?.[1] ? [`worlds/wld-${beneath[1]}`] : []),
    ].join('/'),
  )
const permission = fc.oneof(
  { weight: 1, arbitrary: fc.constant('*') },
  {
    weight: 30,
    arbitrary: fc
      .tuple(scope, fc.constantFrom('', '/**'), fc.constantFrom('r', 'w', '*'))
      .map(([path, all, verb]) => `${path}${all}:${verb}`),
  },
  { weight: 2, arbitrary: fc.constantFrom('', ':r', '**:*', '/**:*', 'organizations/org-1:x') },
)
const permissions = fc.array(permission, { maxLength: 5 })

test('a verb on a scope is the strongest of the permissions that name it or a subtree around it', () => {
  const verbsOf = (held: readonly string[], path: string) =>
    held.map((each): Verb | undefined => {
      const [, named = '', all, verb] = /^(.*?)(\/\*\*)?:([rw*])$/.exec(each) ?? []
      const reaches = named === path || (all !== undefined && path.startsWith(`${named}/`))
      return each === '*' ? '*' : reaches ? (verb as Verb) : undefined
    })
  fc.assert(
    fc.property(permissions, scope, (held, path) => {
      expect(strength(strongestVerb(held, path))).toBe(Math.max(0, ...verbsOf(held, path).map(strength)))
    }),
    { numRuns: 5_000 },
  )
})

test('a grantable permission is never stronger than those of its granter, on any scope or subtree', () => {
  fc.assert(
    fc.property(permissions, permission, scope, (held, granted, path) => {
      fc.pre(mayGrant(held, granted))
      expect(strength(strongestVerb([granted], path))).toBeLessThanOrEqual(strength(strongestVerb(held, path)))
      expect(strength(strongestVerbBeneath([granted], path))).toBeLessThanOrEqual(
        strength(strongestVerbBeneath(held, path)),
      )
    }),
    { numRuns: 5_000 },
  )
})

test('a chain of grants never adds a permission', () => {
  fc.assert(
    fc.property(permissions, permissions, permission, (held, middle, last) => {
      const granted = middle.filter((each) => mayGrant(held, each))
      if (mayGrant(granted, last)) expect(mayGrant(held, last)).toBe(true)
    }),
    { numRuns: 5_000 },
  )
})

test('a holder may grant each of its own valid permissions', () => {
  fc.assert(
    fc.property(permissions, (held) => {
      for (const each of held) {
        const isValid = each === '*' || /^organizations\/org-.*:[rw*]$/.test(each)
        if (isValid) expect(mayGrant(held, each)).toBe(true)
      }
    }),
  )
})

test('readableWorlds matches exactly the worlds on which there is a verb', () => {
  const world = fc.tuple(id, id, id).map(([organization, project, each]) => ({
    organizationId: `org-${organization}`,
    projectId: `prj-${project}`,
    worldId: `wld-${each}`,
  }))
  fc.assert(
    fc.property(permissions, world, (held, { organizationId, projectId, worldId }) => {
      const path = `organizations/${organizationId}/projects/${projectId}/worlds/${worldId}`
      const readable = readableWorlds(held)
      const listed =
        readable.all ||
        readable.organizations.includes(organizationId) ||
        readable.projects.some((each) => each.organizationId === organizationId && each.projectId === projectId) ||
        readable.worlds.some(
          (each) => each.organizationId === organizationId && each.projectId === projectId && each.worldId === worldId,
        )
      expect(listed).toBe(strongestVerb(held, path) !== undefined)
    }),
    { numRuns: 5_000 },
  )
})
