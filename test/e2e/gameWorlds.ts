import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerQuery } from '#shared/domain/query.ts'
import { groupVersion } from '#shared/resources/group.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import type { Game } from '#test/support/gameServers/game.ts'
import type { RunningStack } from '#test/support/npmStart.ts'
import { inNewProject } from '#test/support/rest.ts'
import { eventually, patience } from '#test/support/wait.ts'

const controlPort = 9_000

/** Returns the spec of a World that runs a game server of the tests, which speaks a protocol. */
export const gameSpec = ({
  protocol,
  transport,
  ...runtime
}: {
  protocol: ServerQuery['protocol']
  transport: 'TCP' | 'UDP'
  image: string
  args: string[]
  capacity: number
  mapName: string
}): WorldSpecInput => ({
  state: 'Running',
  networking: {
    ports: [
      { name: 'game', containerPort: 27_015, protocol: transport },
      { name: 'control', containerPort: controlPort, protocol: 'TCP', expose: 'Internal' },
    ],
  },
  runtime: { ...runtime, query: { protocol } },
})

/** Creates a World with kubectl in the namespace of a new organization, and waits until REST has it. */
export const aWorldByHand = async (
  { info }: RunningStack,
  stateDir: string,
  { name, spec }: { name: string; spec: WorldSpecInput },
) => {
  const client = await inNewProject(info.apiUrl, info.rootApiKey)
  const { organizationId, projectId } = client.scope
  const namespace = `orrery-${organizationId}`
  const kubectl = (...args: string[]): string =>
    execFileSync(info.kubectl, ['--kubeconfig', info.kubeconfig, '-n', namespace, ...args], {
      encoding: 'utf8',
      timeout: 30_000 * patience,
      stdio: 'pipe',
    })
  // The first world of an organization makes its namespace.
  await client.call('POST', '/api/worlds/', { name: 'Lobby', transient: false })
  await eventually('the namespace', async () => kubectl('get', 'worlds', '-o', 'name') !== '')
  const labels = { 'orrery.dev/project': projectId }
  const file = join(stateDir, `${name}.json`)
  writeFileSync(file, JSON.stringify({ apiVersion: groupVersion, kind: 'World', metadata: { name, labels }, spec }))
  const appliedAtMs = performance.now()
  kubectl('apply', '-f', file)
  const read = (): World => JSON.parse(kubectl('get', 'world', name, '-o', 'json'))
  const id = await eventually('the id', async () => read().status?.worldId)
  return {
    name,
    id,
    client,
    kubectl,
    appliedAtMs,
    read,
    patch: (changes: object) =>
      kubectl('patch', 'world', name, '--type=merge', '-p', JSON.stringify({ spec: changes })),
    /** Returns a field of the pod. */
    pod: (path: string): string => kubectl('get', 'pod', name, '-o', `jsonpath=${path}`),
  }
}

export type WorldByHand = Awaited<ReturnType<typeof aWorldByHand>>

/** Sets fields of the game of a world, and returns all. */
export const setGame = async ({ pod }: Pick<WorldByHand, 'pod'>, fields: Partial<Game>): Promise<Game> => {
  const url = `http://${pod('{.status.podIP}')}:${controlPort}/`
  return (await fetch(url, { method: 'PUT', body: JSON.stringify(fields) })).json() as Promise<Game>
}
