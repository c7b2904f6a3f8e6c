import type { Pod } from '#operator/pods/pod.ts'
import { apiFinalizer, fieldManagers, groupVersion, labels } from '#shared/resources/group.ts'
import { schedulerNodes } from './scheduler.ts'
import type { Simulator } from './simulator.ts'
import { until } from './until.ts'
import { runId } from './worldFixture.ts'

/** The number of worlds of each fixture. */
export const worldCount = 30

/** The host ports of a fixture, of which programs that are no worlds have the first on each node: 11 x 3 for the worlds. */
export const hostPortsFrom = (first: number) => ({ first, last: first + 11 })

/** Returns the name of the world with that number, from 1. */
export const nameOfWorld = (number: number): string => `wld-${String(number).padStart(26, '0')}`

type Range = ReturnType<typeof hostPortsFrom>
type PodSpec = { nodeName?: string; containers: { ports?: { hostPort?: number; protocol?: string }[] }[] }

/** Creates a fixture with worlds with the strategy HostPort in a namespace that allows them, and programs beside them. */
export const createHostPortFixture = async (simulator: Simulator, project: string, range: Range) => {
  const namespace = project
  const strangers = `${project}-strangers`
  await simulator.makeNamespace(namespace, { [labels.hostPorts]: 'true' })
  await simulator.makeNamespace(strangers)
  const duplicates = watchHostPorts(simulator)
  await Promise.all(
    [...schedulerNodes.keys()].map((nodeName) =>
      simulator.pods.create({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { namespace: strangers, name: nodeName, labels: { [labels.project]: project } },
        spec: {
          nodeName,
          containers: [
            {
              name: 'stranger',
              image: 'i',
              ports: ['TCP', 'UDP'].map((protocol) => ({ containerPort: 1, hostPort: range.first, protocol })),
            },
          ],
        },
      } as Parameters<Simulator['pods']['create']>[0]),
    ),
  )
  const start = (number: number) =>
    simulator.worlds.apply(
      {
        apiVersion: groupVersion,
        kind: 'World',
        metadata: {
          namespace,
          name: nameOfWorld(number),
          labels: { [labels.project]: project },
          finalizers: [apiFinalizer],
        },
        spec: {
          displayName: 'Lobby',
          revision: 1,
          state: 'Running',
          runId: runId(number),
          startedAt: new Date().toISOString(),
          networking: { strategy: 'HostPort' },
        },
      },
      { fieldManager: fieldManagers.api, force: true },
    )
  const worlds = async () => (await simulator.worlds.list({ namespace })).items
  const pods = async () => (await simulator.pods.list({ namespace })).items
  return {
    namespace,
    /** Starts a world that gets the first port, which no node has for it, and then the others at once. */
    startAll: async (): Promise<void> => {
      await start(1)
      await until('the first server', async () => (await pods()).length === 1)
      await Promise.all(Array.from({ length: worldCount - 1 }, (_, at) => start(at + 2)))
    },
    allAreActive: () =>
      until('all worlds are Active', async () => {
        const phases = (await worlds()).map(({ status }) => status?.phase)
        if (phases.length === worldCount && phases.every((phase) => phase === 'Active')) return true
        throw new Error(`phases: ${phases.join(', ')}`)
      }),
    endState: async (): Promise<string> =>
      (await worlds())
        .map(({ metadata, status }) => `${metadata.name} ${status?.phase}, ${status?.run?.restarts} restarts`)
        .join('\n'),
    violations: async (): Promise<string[]> => {
      const [seen, servers] = [await worlds(), await pods()]
      const wrong = seen.flatMap(({ metadata, status }) => {
        const own = servers.filter((pod) => pod.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid))
        if (own.length !== 1) return `${metadata.name} has ${own.length} pods`
        const ports = own.flatMap(hostPortsOf)
        const isOfRange = ports.every(({ hostPort }) => range.first < hostPort && hostPort <= range.last)
        const numbers = new Set(ports.map(({ hostPort }) => hostPort))
        if (ports.length !== 2 || numbers.size !== 1 || !isOfRange)
          return `${metadata.name} has the host ports ${JSON.stringify(ports)}`
        const place = `${schedulerNodes.get(own[0]?.spec?.nodeName ?? '')}:${[...numbers][0]}`
        const address = `${status?.address?.host}:${status?.address?.port}`
        return place === address ? [] : `${metadata.name} has the address ${address} and its server is at ${place}`
      })
      const orphans = servers
        .filter(({ metadata }) => !seen.some(({ metadata: { uid } }) => metadata.ownerReferences?.[0]?.uid === uid))
        .map(({ metadata }) => `orphan ${metadata.name}`)
      return [...duplicates, ...wrong, ...orphans]
    },
    /** Deletes all pods, so that their ports are free for the next fixture. The operators must be gone. */
    clear: async (): Promise<void> => {
      for (const each of [namespace, strangers]) {
        const { items } = await simulator.pods.list({ namespace: each })
        await Promise.all(items.map(({ metadata }) => simulator.pods.delete(metadata, { gracePeriodSeconds: 0 })))
      }
    },
  }
}

/** A fixture with worlds on host ports. */
export type HostPortFixture = Awaited<ReturnType<typeof createHostPortFixture>>

type HostPort = { readonly hostPort: number; readonly protocol: string }

const hostPortsOf = ({ spec }: Pod): HostPort[] =>
  ((spec as PodSpec | undefined)?.containers ?? []).flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, protocol = 'TCP' }) => (hostPort === undefined ? [] : { hostPort, protocol })),
  )

/** Watches the pods, and returns a list to which each host port is added that a node has twice at any time. */
const watchHostPorts = (simulator: Simulator): string[] => {
  /** The host ports of each live pod on its node. */
  const held = new Map<string, readonly string[]>()
  const duplicates: string[] = []
  simulator.onPodChange(({ type, key, object }) => {
    const { spec, status } = object
    held.delete(key)
    const isOver = type === 'deleted' || status?.phase === 'Succeeded' || status?.phase === 'Failed'
    if (isOver || spec?.nodeName === undefined) return
    const own = hostPortsOf(object).map(({ hostPort, protocol }) => `${spec.nodeName} ${hostPort}/${protocol}`)
    for (const [other, ports] of held) {
      for (const port of ports) if (own.includes(port)) duplicates.push(`${port} is of ${key} and of ${other}`)
    }
    held.set(key, own)
  })
  return duplicates
}
