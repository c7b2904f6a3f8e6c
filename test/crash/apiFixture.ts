import { idOfUid } from '#shared/ids.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { withDefined } from '#shared/optional.ts'
import { groupVersion, labels } from '#shared/resources/group.ts'
import { botSelectorOf } from '#shared/resources/selectors.ts'
import { capturedRunFields } from '#shared/resources/world.ts'
import type { Answer, createRest, WorldBody } from '#test/support/rest.ts'
import { normalized, pick, pickPod, pickWorld, withoutNumbers } from './endState.ts'
import type { Simulator } from './simulator.ts'
import { orAbsent, until } from './until.ts'
import { watchServers } from './watchServers.ts'

type Rest = ReturnType<typeof createRest>
type Bots = { documentId: string; configuration: { count: number }; status: { phase: string } }
/** The state of the API from outside. `makeDue` makes the schedule of a world due, and `acts` counts what it did. */
type Api = {
  isUp(): Promise<boolean>
  depth(): Promise<number>
  makeDue(worldId: string): Promise<boolean>
  acts(organizationId: string): Promise<ReadonlyMap<string, number>>
}

/**
 * Creates a fixture with one world of a new project in one of the clusters, changed over REST. Calls are repeated while the api
 * is down. Changes with kubectl are made in the first cluster. `user` has the token of user-7, who may read the project.
 */
export const createApiFixture = (
  simulators: readonly [Simulator, ...Simulator[]],
  { rest, user }: { readonly rest: Rest; readonly user: Rest },
  namespace: string,
  api: Api,
) => {
  const [simulator] = simulators
  const watched = watchServers(simulators, namespace)
  let worldId = ''
  let worldName = ''
  let botsId = ''
  let botsName = ''
  let asked = 0
  /** Sends a request. Repeats it once the API is back if there was no response, unless it took effect. */
  const call = async (method: string, path: string, body?: unknown, isDone = async () => false): Promise<unknown> => {
    asked += 1
    const headers = { 'idempotency-key': `${namespace}-${asked}` }
    for (;;) {
      const answer = await rest.call(method, path, body, headers).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) return answer.body
      if (answer !== undefined && answer.status < 500) throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
      await until('the api is back', api.isUp)
      if (await isDone()) return undefined
    }
  }
  /** Reads a document. Repeats the request while the API is down, since it may be killed between any two requests. */
  const read = async <T>(path: string): Promise<T | undefined> => {
    const answer = await until(`a response to GET ${path}`, async () => {
      const each: Answer<T> = await rest.call('GET', path)
      return each.status < 500 && each
    })
    if (answer.status === 404) return undefined
    if (answer.status >= 300) throw new Error(`GET ${path}: ${answer.status}`)
    return answer.body
  }
  const ownLabels = {
    [labels.organization]: rest.scope.organizationId ?? '',
    [labels.project]: rest.scope.projectId ?? '',
  }
  const world = () => read<WorldBody & { compute: { region: string } }>(`/api/worlds/${worldId}/`)
  const bots = () => read<Bots>(`/api/worlds/${worldId}/bots/${botsId}/`)
  /** Reads the object in the first cluster that has it. */
  const anywhere = async <T>(get: (each: Simulator) => Promise<T>): Promise<T | undefined> => {
    const found = await Promise.all(simulators.map((each) => orAbsent(get(each))))
    return found.find((each) => each !== undefined)
  }
  const liveWorld = () => anywhere(({ worlds }) => worlds.get({ namespace, name: worldName }))
  const liveBots = () => anywhere(({ botDeployments }) => botDeployments.get({ namespace, name: botsName }))
  const phase = (wanted: string) => until(`phase ${wanted}`, async () => (await world())?.status.phase === wanted)
  const pods = async (labelSelector?: string) => {
    const lists = simulators.map((each) => each.pods.list(withDefined({ namespace, labelSelector })))
    return (await Promise.all(lists)).flatMap(({ items }) => items)
  }
  /** Returns the positions of the clusters that have the World. */
  const clustersOfWorld = async (): Promise<number[]> => {
    const found = simulators.map(({ worlds }) => orAbsent(worlds.get({ namespace, name: worldName })))
    return (await Promise.all(found)).flatMap((each, at) => (each === undefined ? [] : at))
  }
  const settled = () =>
    until('the cluster has what the rows say', async () => {
      if ((await api.depth()) > 0) return false
      const all: (KubeObject & { status?: { observedGeneration?: number } })[] = []
      for (const each of [await liveWorld(), botsId === '' ? undefined : await liveBots()]) if (each) all.push(each)
      return all.every(({ status, metadata }) => status?.observedGeneration === metadata.generation)
    })
  /** Acts, and waits until another run than the last one is Active. */
  const anotherRun = async (act: (isDone: () => Promise<boolean>) => Promise<unknown>): Promise<void> => {
    const before = (await world())?.status.runId
    await act(async () => (await world())?.status.runId !== before)
    await until('another run is Active', async () => {
      const { status } = (await world()) ?? {}
      return status?.runId !== before && status?.phase === 'Active'
    })
    await settled()
  }
  const begin = (verb: 'start' | 'wake'): Promise<void> =>
    anotherRun((isDone) => call('POST', `/api/worlds/${worldId}/${verb}/`, undefined, isDone))
  const isStopped = async (): Promise<boolean> => {
    const { phase: seen, idle } = (await world())?.status ?? {}
    return seen === 'Stopped' && idle === undefined
  }
  const hasEnded = async (): Promise<void> => {
    await until('no pod', async () => (await pods()).length === 0)
    await settled()
  }
  const acts = async (): Promise<number> => (await api.acts(rest.scope.organizationId ?? '')).get(worldId) ?? 0
  return {
    namespace,
    world,
    liveWorld,
    phase,
    settled,
    until,
    create: async (settings: object = {}): Promise<void> => {
      const made = await call('POST', '/api/worlds/', { name: 'Lobby', transient: false, ...settings })
      worldId = (made as { worldId: string }).worldId
      worldName = worldId
      await until('the World', liveWorld)
      await settled()
    },
    start: () => begin('start'),
    wake: () => begin('wake'),
    /** Checks the access of the user, which wakes the world. */
    enter: () =>
      anotherRun(async () => {
        await until('the user has access', async () => {
          const path = `/api/worlds/${worldId}/users/user-7/access/`
          const answer = await user.call<{ hasAccess: boolean; reason?: string }>('GET', path)
          if (answer.status < 500 && !answer.body.hasAccess) throw new Error(JSON.stringify(answer.body))
          return answer.status < 500
        })
      }),
    /** Lets time pass until REST shows that the world sleeps. */
    fallsAsleep: async (): Promise<void> => {
      await until('the world sleeps', async () => {
        await simulator.passMinutes({ namespace, name: worldName }, 601)
        return (await world())?.status.idle?.asleepSince !== undefined
      })
      await hasEnded()
    },
    stop: async (): Promise<void> => {
      await call('POST', `/api/worlds/${worldId}/stop/`, undefined, isStopped)
      await hasEnded()
    },
    /** Makes the schedule due, and waits for the run that it begins. */
    startsBySchedule: () => anotherRun(() => api.makeDue(worldId)),
    /** Makes the schedule due, and waits until it has stopped the world. */
    stopsBySchedule: async (): Promise<void> => {
      await api.makeDue(worldId)
      await until('the schedule stops the world', isStopped)
      await hasEnded()
    },
    /** Makes the schedule due, and waits until its action is refused. */
    isRefusedBySchedule: async (): Promise<void> => {
      await api.makeDue(worldId)
      await until('the refusal', async () => (await acts()) > 0)
      await settled()
    },
    /** Waits until REST and the cluster show the next action. */
    hasNextAction: async (): Promise<void> => {
      await until('the next action', async () => {
        const inCluster = (await liveWorld())?.spec.nextAction
        return inCluster !== undefined && (await world())?.status.nextAction?.at === inCluster.at
      })
      await settled()
    },
    rename: async (name: string): Promise<void> => {
      const isDone = async (): Promise<boolean> => (await world())?.name === name
      await call('PATCH', `/api/worlds/${worldId}/`, { name }, isDone)
      await until('the name in the cluster', async () => (await liveWorld())?.spec.displayName === name)
      await settled()
    },
    /** Changes the region of the world. */
    put: async (region: string): Promise<void> => {
      const isDone = async (): Promise<boolean> => (await world())?.compute.region === region
      await call('PATCH', `/api/worlds/${worldId}/`, { compute: { group: 'production', region } }, isDone)
    },
    /** Waits until the world is in the cluster at this position, and in no other one. */
    isIn: async (at: number): Promise<void> => {
      await until(`the World is in cluster ${at + 1}`, async () => (await clustersOfWorld()).join() === String(at))
      await settled()
    },
    delete: async (): Promise<void> => {
      await call('DELETE', `/api/worlds/${worldId}/`, undefined, async () => (await world()) === undefined)
      await until('the World is gone', async () => (await liveWorld()) === undefined)
      await settled()
    },
    deleteProject: async (): Promise<void> => {
      const path = '/api/organizations/projects/current/'
      await call('DELETE', path, undefined, async () => (await read(path)) === undefined)
      await until('the World is gone', async () => (await liveWorld()) === undefined)
      await settled()
    },
    /** Creates a World as kubectl does, in the project of the fixture. It becomes the world of the fixture. */
    createByHand: async (spec: object): Promise<void> => {
      worldName = 'by-hand'
      const metadata = { namespace, name: worldName, labels: ownLabels }
      const { metadata: made } = await simulator.worlds.create({
        apiVersion: groupVersion,
        kind: 'World',
        metadata,
        spec,
      })
      worldId = idOfUid('world', made.uid ?? '')
      await until('the row', world)
      await settled()
    },
    /** Creates a BotDeployment of the world as kubectl does. It becomes that of the fixture. */
    createBotsByHand: async (count: number): Promise<void> => {
      botsName = 'bots-by-hand'
      const { metadata } = await simulator.botDeployments.create({
        apiVersion: groupVersion,
        kind: 'BotDeployment',
        metadata: { namespace, name: botsName, labels: ownLabels },
        spec: { worldName, count },
      })
      botsId = idOfUid('bot', metadata.uid ?? '')
      await until('the row', bots)
      await settled()
    },
    /** Edits the World as kubectl does. */
    editByHand: (spec: object) => simulator.worlds.patch({ namespace, name: worldName }, { spec }),
    /** Returns the settings of the run in the status of the World, and the container of its server. */
    runningSettings: async (): Promise<string> => {
      const run = (await liveWorld())?.status?.run
      const [server] = await pods(`app.kubernetes.io/component=world,${labels.world}=${worldName}`)
      const captured = capturedRunFields.map((field) => [field, run?.[field]])
      return normalized({ run: Object.fromEntries(captured), container: server?.spec?.containers?.[0] })
    },
    /** Waits until REST shows an edit with kubectl. */
    isNamed: async (name: string): Promise<void> => {
      await until(`the name ${name} in REST`, async () => (await world())?.name === name)
      await settled()
    },
    /** Waits until the time of a start that never was is gone from the World, which says that the edit was refused. */
    isPutBack: async (): Promise<void> => {
      await until('the edit is put back', async () => {
        const { spec, status } = (await liveWorld()) ?? {}
        const isRefused = status?.conditions?.some((each) => each.type === 'Synced' && each.status === 'False')
        return spec !== undefined && spec.startedAt === undefined && isRefused
      })
      await settled()
    },
    /** Deletes the namespace, and waits until the world is in a new one. */
    deleteNamespace: async (): Promise<void> => {
      const { uid } = (await liveWorld())?.metadata ?? {}
      await simulator.deleteNamespace(namespace)
      await until('another World', async () => {
        const now = await liveWorld()
        return now !== undefined && now.metadata.uid !== uid
      })
      await settled()
    },
    /** Restores the world after its deletion. */
    restore: async (): Promise<void> => {
      await call('POST', `/api/worlds/${worldId}/restore/`, undefined, async () => (await world()) !== undefined)
      await until('the World', liveWorld)
      if (botsId !== '') await until('the BotDeployment', liveBots)
      await settled()
    },
    deleteByHand: async (): Promise<void> => {
      await simulator.worlds.delete({ namespace, name: worldName })
      await until('the World is gone', async () => (await liveWorld()) === undefined)
      await settled()
    },
    /** Removes the World without the API's finalizer, as a restored cluster would. */
    vanish: async (): Promise<void> => {
      const { uid } = (await liveWorld())?.metadata ?? {}
      await simulator.worlds.patch({ namespace, name: worldName }, { metadata: { finalizers: null } })
      await simulator.worlds.delete({ namespace, name: worldName }, withDefined({ uid }))
      await until('another World', async () => {
        const now = await liveWorld()
        return now !== undefined && now.metadata.uid !== uid
      })
      await settled()
    },
    createBots: async (count: number): Promise<void> => {
      const path = `/api/worlds/${worldId}/bots/`
      await call('POST', path, { count })
      const [made] = await until('the bots', () => read<Bots[]>(path))
      botsId = made?.documentId ?? ''
      botsName = botsId
      await until('the BotDeployment', liveBots)
    },
    scaleBots: async (count: number): Promise<void> => {
      const isDone = async (): Promise<boolean> => (await bots())?.configuration.count === count
      await call('PATCH', `/api/worlds/${worldId}/bots/${botsId}/`, { count }, isDone)
    },
    botsAre: async (wanted: string, count: number): Promise<void> => {
      await until(`${count} bots, ${wanted}`, async () => {
        const items = await pods(botSelectorOf(botsName))
        return (await bots())?.status.phase === wanted && items.length === count
      })
      await settled()
    },
    deleteBots: async (): Promise<void> => {
      await call(
        'DELETE',
        `/api/worlds/${worldId}/bots/${botsId}/`,
        undefined,
        async () => (await bots()) === undefined,
      )
      await until('the bots are gone', async () => (await liveBots()) === undefined)
      await settled()
    },
    endState: async (isRace: boolean): Promise<string> => {
      const compared = isRace ? withoutNumbers : (picked: object) => picked
      const [row, botRow] = [await world(), botsId === '' ? undefined : await bots()]
      const [seen, deployment] = [await liveWorld(), botsId === '' ? undefined : await liveBots()]
      const left = (await pods()).map(pickPod)
      const runs = await read<object[]>(`/api/worlds/${worldId}/deployments/`)
      return normalized({
        row,
        runs: runs?.length,
        acts: await acts(),
        botRow,
        world: seen && compared(pickWorld(seen)),
        bots: deployment && compared(pick(deployment)),
        pods: left,
        clusters: await clustersOfWorld(),
      })
    },
    violations: async (): Promise<string[]> => {
      const owners = [await liveWorld(), botsId === '' ? undefined : await liveBots()].map((each) => each?.metadata.uid)
      return (await pods())
        .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => !owners.includes(uid)))
        .map(({ metadata }) => `orphan ${metadata.name} of ${metadata.labels?.[labels.world]}`)
        .concat(watched.violations())
    },
  }
}

/** A fixture that changes a world over REST. */
export type ApiFixture = ReturnType<typeof createApiFixture>
