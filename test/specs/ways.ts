import { scalingProfileNames } from '#shared/scalingProfiles.ts'
import { concurrently } from '#test/support/concurrently.ts'
import { fc } from '#test/support/fastCheck.ts'
import {
  type Body,
  botSpec,
  createBotsBody,
  createWorldBody,
  patchBotsBody,
  patchWorldBody,
  withKeys,
  worldSpec,
} from './generators.ts'
import type { Fate, Harness } from './harness.ts'

/** A way by which a spec or a body reaches a row, with the fates that it can have. */
export type Way = {
  readonly title: string
  readonly fates: readonly Fate[]
  readonly bodies: fc.Arbitrary<Body>
  /** Bodies that are always sent. */
  readonly examples?: readonly Body[]
  readonly send: (harness: Harness, body: Body) => Promise<Fate>
}

const byKubectl: readonly Fate[] = ['refused before it is stored', 'refused by a rule', 'adopted']
const overRest: readonly Fate[] = ['refused before it is stored', 'pushed']

/** The value of `worldName` that stands for a new world. */
const aWorld = '$world'

const makeBots = async ({ tenant, makeWorld, isPushed }: Harness): Promise<{ path: string; id: string }> => {
  const path = `/api/worlds/${await makeWorld()}/bots/`
  const { headers } = await tenant.rest.call('POST', path, { count: 1 })
  const id = headers.get('location')?.split('/').at(-2) ?? ''
  await isPushed('BotDeployment', id)
  return { path: `${path}${id}/`, id }
}

const labels = (...entries: readonly (readonly [string, unknown])[]): Body => ({
  metadata: { labels: withKeys(...entries) },
})
const oddSpecs: readonly Body[] = [
  ...scalingProfileNames.map((profile) => ({ scaling: { profile } })),
  { displayName: 'x' },
  { description: 'a\u0000b' },
  { description: 'a\u007f\u0080\u0085\u2028\u2029\ufeff\ufffe\uffffb' },
  labels(['a\u007f\u0085\u2028\u2029\ufeff\uffffb', 'a']),
  labels(['__proto__', 'a']),
  labels(['constructor', 'a']),
  labels(['a\u0000'.repeat(128), 'a']),
  labels(['\u0001'.repeat(256), 'a'], ['b', 'c']),
  { description: '\u0001'.repeat(256) },
]

/** The ways by which specs of Worlds and BotDeployments, and bodies of REST, reach rows. */
export const ways: readonly Way[] = [
  {
    title: 'a World created with kubectl',
    fates: byKubectl,
    bodies: worldSpec(),
    examples: oddSpecs,
    send: ({ createWithKubectl }, spec) => createWithKubectl('World', spec),
  },
  {
    title: 'a World edited with kubectl',
    fates: byKubectl,
    bodies: worldSpec(),
    examples: oddSpecs,
    send: async ({ editWithKubectl, makeWorld }, spec) => editWithKubectl('World', await makeWorld(), spec),
  },
  {
    title: 'a World patched over REST and edited with kubectl at once',
    fates: byKubectl,
    bodies: fc.record({ body: patchWorldBody(), patch: worldSpec() }),
    send: async ({ patchBoth, makeWorld }, { body, patch }) =>
      patchBoth(await makeWorld(), body as Body, patch as Body),
  },
  {
    title: 'a world created over REST',
    fates: overRest,
    bodies: createWorldBody(),
    send: ({ sendRest }, body) => sendRest('World', { method: 'POST', path: '/api/worlds/', body }),
  },
  {
    title: 'a world patched over REST',
    fates: overRest,
    bodies: patchWorldBody(),
    send: async ({ sendRest, makeWorld }, body) => {
      const id = await makeWorld()
      return sendRest('World', { method: 'PATCH', path: `/api/worlds/${id}/`, body, id })
    },
  },
  {
    title: 'a BotDeployment created with kubectl',
    fates: byKubectl,
    bodies: botSpec(aWorld),
    examples: [labels(['__proto__', 'a']), { description: 'a\u0000b' }].map((spec) => ({
      worldName: aWorld,
      count: 1,
      ...spec,
    })),
    send: async ({ createWithKubectl, makeWorld }, { worldName, ...spec }) =>
      createWithKubectl('BotDeployment', { ...spec, worldName: worldName === aWorld ? await makeWorld() : worldName }),
  },
  {
    title: 'a BotDeployment edited with kubectl',
    fates: byKubectl,
    bodies: botSpec(aWorld),
    examples: [{ count: 31 }, labels(['__proto__', 'a'])],
    send: async (harness, { worldName, ...spec }) =>
      harness.editWithKubectl('BotDeployment', (await makeBots(harness)).id, spec),
  },
  {
    title: 'a bot deployment created over REST',
    fates: overRest,
    bodies: createBotsBody(),
    send: async ({ sendRest, makeWorld }, body) =>
      sendRest('BotDeployment', { method: 'POST', path: `/api/worlds/${await makeWorld()}/bots/`, body }),
  },
  {
    title: 'a bot deployment patched over REST',
    fates: overRest,
    bodies: patchBotsBody(),
    send: async (harness, body) =>
      harness.sendRest('BotDeployment', { method: 'PATCH', ...(await makeBots(harness)), body }),
  },
]

/** Sends generated bodies by a way. Returns the number of each fate, and the failures with their bodies. */
export const sendMany = async (harness: Harness, way: Way, { seed, count }: { seed: number; count: number }) => {
  const bodies = [...(way.examples ?? []), ...fc.sample(way.bodies, { seed, numRuns: count })]
  const counts = new Map<Fate, number>(way.fates.map((fate) => [fate, 0]))
  const failures: string[] = []
  await concurrently(bodies.length, async (at) => {
    const body = bodies[at] ?? {}
    try {
      const fate = await way.send(harness, body)
      counts.set(fate, (counts.get(fate) ?? 0) + 1)
    } catch (error) {
      failures.push(shortened(`${error instanceof Error ? error.message : error}; sent: ${JSON.stringify(body)}`))
    }
  })
  return { counts, failures }
}

/** Shortens what repeats in a text. */
const shortened = (text: string): string => text.replaceAll(/(.{1,16}?)\1{7,}/gsu, '$1…').slice(0, 4_096)
