import { isDeepStrictEqual } from 'node:util'
import { leavesOf } from '#api/sync/merge/leaves.ts'
import { scalingProfileNames, scalingProfiles } from '#shared/scalingProfiles.ts'
import { aDatabase, startApi } from '#test/support/processes.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'
import { connectTo, type Kind, type Live } from './cluster.ts'
import type { Body } from './generators.ts'
import { limitMs, openRows } from './rows.ts'

/** The end of a spec or a REST body. `pushed` is a body that REST accepted, whose push was accepted too. */
export type Fate = 'refused before it is stored' | 'refused by a rule' | 'adopted' | 'pushed'

const limits = {
  maxWorlds: 1_000_000,
  maxWorldCapacity: 10_000,
  maxRunningCapacity: 100_000_000,
  maxNodePorts: 1_000_000,
  maxLoadBalancers: 1_000_000,
  maxBotDeployments: 1_000_000,
  maxBotCpu: 1_000_000,
  maxBotMemory: 2 ** 50,
  imageRegistries: ['registry.example'],
  hostPorts: true,
}

/** The harness of `startHarness`. */
export type Harness = Awaited<ReturnType<typeof startHarness>>

/** Starts an API with a tenant whose limits leave room for every spec. No operator runs. */
export const startHarness = async () => {
  const databaseUrl = await aDatabase()
  const settings = { ORRERY_ROUTE_GATEWAY: 'gateways/players' }
  const api = await startApi({ databaseUrl, settings })
  const tenant = await aTenant(api.url)
  const { organizationId, projectId } = tenant.scope
  await tenant.rest.call('PATCH', `/api/organizations/${organizationId}/limits/`, limits)
  const build = { image: 'registry.example/build:1', contentId: 'c' }
  await tenant.rest.call('PUT', '/api/builds/main/stable/', build)
  const cluster = connectTo(`orrery-${organizationId}`, projectId)
  const rows = openRows(databaseUrl, cluster)
  let made = 0
  const count = (): number => {
    made += 1
    return made
  }

  /** Creates a world over REST: alone, with a build, or started. */
  const makeWorld = async (): Promise<string> => {
    const at = count()
    const id = await tenant.world(at % 3 === 0 ? { runtime: { build: { channelId: 'main', tag: 'stable' } } } : {})
    if (at % 2 === 0) await tenant.rest.call('POST', `/api/worlds/${id}/start/`)
    await rows.isSettled('World', id)
    return id
  }
  // The first world of a tenant makes its namespace.
  await makeWorld()

  /** Fails unless the condition Synced says why something was put back or not adopted. */
  const saysWhy = (kind: Kind, name: string) =>
    eventually(
      `${name} says why it is refused`,
      async () => {
        return isRefused(await cluster.read(kind, name))
      },
      { timeoutMs: limitMs },
    )

  return {
    tenant,
    makeWorld,
    /** Waits until the row of a resource is pushed. */
    isPushed: rows.isSettled,
    /** Creates a resource with kubectl and follows it to its end. */
    createWithKubectl: async (kind: Kind, spec: Body): Promise<Fate> => {
      const name = `made-${count()}`
      const sent = await cluster.create(kind, name, spec)
      if (sent === undefined) return 'refused before it is stored'
      const live = await eventually(
        `${name} is adopted or refused`,
        async () => {
          const now = await cluster.read(kind, name)
          return (isClaimed(now) || isRefused(now)) && now
        },
        { timeoutMs: limitMs },
      )
      if (!isClaimed(live)) {
        await saysWhy(kind, name)
        if (!isDeepStrictEqual(live.spec, sent.spec)) throw new Error('a resource that is not adopted was changed')
        await cluster.remove(kind, name)
        return 'refused by a rule'
      }
      await rows.isSettled(kind, name)
      const lost = lostLeaves({}, sent.spec, (await rows.isFixedPoint(kind, name)).spec)
      if (lost.length > 0) throw new Error(`adopted without ${lost}`)
      return 'adopted'
    },
    /** Edits a resource with kubectl and follows the edit to its end. */
    editWithKubectl: async (kind: Kind, name: string, patch: Body): Promise<Fate> => {
      const before = await cluster.read(kind, name)
      const sent = await cluster.patch(kind, name, patch)
      if (sent === undefined) return 'refused before it is stored'
      await rows.isSettled(kind, name, sent.metadata.resourceVersion)
      const live = await rows.isFixedPoint(kind, name)
      if (lostLeaves(before.spec, sent.spec, live.spec).length === 0) return 'adopted'
      await saysWhy(kind, name)
      return 'refused by a rule'
    },
    /** Patches a world over REST and with kubectl at once, and follows both changes to their end. */
    patchBoth: async (id: string, body: Body, patch: Body): Promise<Fate> => {
      const [, sent] = await Promise.all([
        tenant.rest.call('PATCH', `/api/worlds/${id}/`, body),
        cluster.patch('World', id, patch),
      ])
      await rows.isSettled('World', id, sent?.metadata.resourceVersion)
      const live = await rows.isFixedPoint('World', id)
      if (sent === undefined) return 'refused before it is stored'
      return isRefused(live) ? 'refused by a rule' : 'adopted'
    },
    /** Sends a request that changes a row and follows the row to its push. */
    sendRest: async (kind: Kind, { method, path, body, id }: RestChange): Promise<Fate> => {
      const answer = await tenant.rest.call<Body | undefined>(method, path, body)
      if (answer.status >= 500) throw new Error(`answered ${answer.status}: ${JSON.stringify(answer.body)}`)
      if (answer.status >= 400) return 'refused before it is stored'
      const name = id ?? String(answer.body?.worldId ?? answer.headers.get('location')?.split('/').at(-2))
      await rows.isSettled(kind, name)
      await rows.isFixedPoint(kind, name)
      return 'pushed'
    },
    stop: async (): Promise<void> => {
      await Promise.all([rows.close(), api.stop(), cluster.close()])
    },
  }
}

/** A request that creates a row, or changes the one with an id. */
type RestChange = { method: 'POST' | 'PATCH'; path: string; body: Body; id?: string }

/** Reports whether the API has pushed the resource. */
const isClaimed = ({ metadata }: Live): boolean => metadata.finalizers !== undefined

/** Reports whether a rule of REST refuses the resource, with a message. A refusal of the cluster is none. */
const isRefused = ({ status }: Live): boolean => {
  const synced = status?.conditions?.find(({ type }) => type === 'Synced')
  return synced?.status === 'False' && synced.reason !== 'PushRefused' && synced.message !== ''
}

/** Returns the pointers of the leaves that an edit changed and that are otherwise in the end. */
const lostLeaves = (before: Body, edited: Body, end: Body): string[] => {
  const [was, wanted, is] = [leavesOf(before), leavesOf(edited), leavesOf(end)]
  const profile = scalingProfileNames.find((each) => each === is.get('/scaling/profile'))
  if (profile !== undefined && !wanted.has('/runtime/capacity'))
    wanted.set('/runtime/capacity', scalingProfiles[profile].capacity)
  // The API has revisions and next actions of its own, and fills in a name that is absent.
  const isOfApi = (pointer: string) =>
    pointer === '/revision' ||
    pointer.startsWith('/nextAction') ||
    (pointer === '/displayName' && [undefined, ''].includes(wanted.get(pointer) as string))
  return [...new Set([...was.keys(), ...wanted.keys()])].filter(
    (pointer) =>
      !isOfApi(pointer) &&
      !isDeepStrictEqual(was.get(pointer), wanted.get(pointer)) &&
      !isDeepStrictEqual(wanted.get(pointer), is.get(pointer)),
  )
}
