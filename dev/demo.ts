import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Client, createClient } from '#client/client.ts'
import { createRealtime, type Realtime, type Update } from '#client/realtime.ts'
import { startOrExit } from '#shared/process.ts'
import { stateVariable } from './process.ts'
import type { StackInfo } from './stack.ts'
import { until } from './until.ts'

// Shows the life of a world on a running stack. Prints each step as the command that a user would type, and its output.
const stepMs = 60_000

const readStack = (): StackInfo => {
  const stateDir = resolve(process.env[stateVariable] || fileURLToPath(new URL('../.orrery', import.meta.url)))
  const file = join(stateDir, 'stack.json')
  if (!existsSync(file))
    throw new Error(`There is no ${file}: start a stack first, with npm start, and leave it running.`)
  return JSON.parse(readFileSync(file, 'utf8')) as StackInfo
}

const say = (text = ''): void => void process.stdout.write(`${text}\n`)
const show = (value: unknown): void => say(typeof value === 'string' ? value.trimEnd() : JSON.stringify(value, null, 2))

/** Sends a request. Prints it as a curl command without the key, and then its response. */
const printed: typeof fetch = async (input, init) => {
  const shown = [...new Headers(init?.headers)].filter(([name]) => name !== 'accept')
  const headers = shown.map(([name, value]) => `-H "${name}: ${name === 'x-api-key' ? '$KEY' : value}"`)
  const data = typeof init?.body === 'string' ? [`-d '${init.body}'`] : []
  say(`\n$ curl -s -X ${init?.method ?? 'GET'} ${[...headers, ...data].join(' ')} ${String(input)}`)
  const answer = await fetch(input, init)
  const text = await answer.clone().text()
  if (text !== '') show(JSON.parse(text))
  return answer
}

const run = ({ kubectl, kubeconfig }: StackInfo, args: string[]): string =>
  execFileSync(kubectl, ['--kubeconfig', kubeconfig, ...args], { encoding: 'utf8', timeout: stepMs })

const kubectl = (stack: StackInfo, ...args: string[]): string => {
  say(`\n$ kubectl ${args.join(' ')}`)
  return run(stack, args)
}

const isGone = (stack: StackInfo, namespace: string, what: string) => async (): Promise<true | undefined> =>
  run(stack, ['get', what, '-n', namespace, '-o', 'name']) === '' ? true : undefined

/** Returns the first data that the world's game port sends. */
const greet = (host: string, port: number): Promise<string> =>
  new Promise((done, fail) => {
    const socket = connect({ host, port, timeout: 5_000 })
    socket.once('data', (data) => {
      done(data.toString())
      socket.destroy()
    })
    socket.once('timeout', () => socket.destroy(new Error(`${host}:${port} did not answer`)))
    socket.once('error', fail)
  })

/** Resolves when the world is Active. Prints each status received over WebSocket until then. */
const becomesActive = (realtime: Realtime, worldId: string): Promise<Update<'world'>['data']> =>
  new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error('Waited too long for the world to be Active')), stepMs)
    const stop = realtime.subscribe('world', worldId, {
      onUpdate: ({ data: status, version }) => {
        say(`# ${version} ${status.phase} ${status.message}`.trimEnd())
        if (status.phase === 'Error') fail(new Error(`The world is in Error: ${status.message}`))
        if (status.phase !== 'Active') return
        clearTimeout(timer)
        stop()
        done(status)
      },
      onError: fail,
    })
  })

const start = async (shown: Client, realtime: Realtime, worldId: string): Promise<void> => {
  say(`\n# over WebSocket: ${JSON.stringify({ action: 'subscribe', resource: { type: 'world', id: worldId } })}`)
  const active = becomesActive(realtime, worldId)
  const startedMs = performance.now()
  const [status] = await Promise.all([active, shown.startWorld({ params: { worldId } })])
  show(status)
  say(`# Active after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
}

const visit = async (stack: StackInfo, namespace: string, worldId: string): Promise<void> => {
  show(kubectl(stack, 'get', 'worlds,pods', '-n', namespace))
  const address = kubectl(stack, 'get', 'world', worldId, '-n', namespace, '-o', 'jsonpath={.status.address}')
  show(address)
  if (stack.node === 'kwok') return say('# a simulated node runs no container, so no server accepts connections')
  if (stack.node !== 'containerd') return say('# the address is one of the cluster, which this machine need not reach')
  const { host, port } = JSON.parse(address) as { host: string; port: number }
  say(`\n$ nc ${host} ${port}`)
  show(await greet(host, port))
}

await startOrExit(async () => {
  const stack = readStack()
  const connection = { baseUrl: stack.apiUrl, apiKey: stack.rootApiKey, timeoutMs: stepMs }
  const platform = createClient({ ...connection, fetch: printed })
  say(`# a stack with ${stack.node === 'kwok' ? 'a simulated' : 'a real'} node; $KEY is its rootApiKey`)
  const { organizationId } = await platform.createOrganization({ body: { name: 'Acme' } })
  const { projectId } = await platform.in({ organizationId }).createProject({ body: { name: 'Showroom' } })
  const shown = platform.in({ organizationId, projectId })
  const realtime = createRealtime({ ...connection, organizationId, projectId })
  const namespace = `${process.env.ORRERY_NAMESPACE_PREFIX || 'orrery'}-${organizationId}`

  const { worldId } = await shown.createWorld({
    body: { name: 'Lobby', transient: false, runtime: { mapName: 'hall' } },
  })
  const params = { worldId }
  await start(shown, realtime, worldId)
  realtime.close()
  await visit(stack, namespace, worldId)

  await shown.stopWorld({ params })
  await until('the server to stop', isGone(stack, namespace, 'pods'), stepMs)
  await shown.listWorldDeployments({ params })
  await shown.deleteWorld({ params })
  await until('the World to be gone', isGone(stack, namespace, 'worlds'), stepMs)
  show(kubectl(stack, 'get', 'worlds,pods', '-n', namespace) || 'No resources found')
  say('\n# done')
})
