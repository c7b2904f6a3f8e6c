import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startOrExit } from '#shared/process.ts'
import { stateVariable } from './process.ts'
import type { StackInfo } from './stack.ts'

// The life of a world on a running stack. Each step is printed as the command that a user would type, then its answer.
const stepMs = 60_000
const pollMs = 200

type Answer = Record<string, unknown> & { status?: { phase?: string; message?: string } }

const readStack = (): StackInfo => {
  const stateDir = resolve(process.env[stateVariable] || fileURLToPath(new URL('../.orrery', import.meta.url)))
  const file = join(stateDir, 'stack.json')
  if (!existsSync(file))
    throw new Error(`There is no ${file}: start a stack first, with npm start, and leave it running.`)
  return JSON.parse(readFileSync(file, 'utf8')) as StackInfo
}

const say = (text = ''): void => void process.stdout.write(`${text}\n`)
const show = (value: unknown): void => say(typeof value === 'string' ? value.trimEnd() : JSON.stringify(value, null, 2))

/** Makes REST calls in the scope of the headers, and prints each as curl would make it. */
const createCurl = ({ apiUrl, rootApiKey }: StackInfo) => {
  const scope: Record<string, string> = {}
  const call = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await fetch(`${apiUrl}${path}`, {
      method,
      headers: { 'x-api-key': rootApiKey, ...scope, ...(body ? { 'content-type': 'application/json' } : {}) },
      ...(body ? { body: JSON.stringify(body) } : {}),
      signal: AbortSignal.timeout(stepMs),
    })
    const text = await answer.text()
    if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${text}`)
    return (text === '' ? {} : JSON.parse(text)) as Answer
  }
  const print = (method: string, path: string, body?: object): void => {
    const headers = ['-H "x-api-key: $KEY"', ...Object.entries(scope).map(([name, value]) => `-H "${name}: ${value}"`)]
    const data = body ? [`-H "content-type: application/json" -d '${JSON.stringify(body)}'`] : []
    say(`\n$ curl -s -X ${method} ${[...headers, ...data].join(' ')} ${apiUrl}${path}`)
  }
  return {
    scope,
    quietly: call,
    shown: async (method: string, path: string, body?: object): Promise<Answer> => {
      print(method, path, body)
      const answer = await call(method, path, body)
      if (Object.keys(answer).length > 0) show(answer)
      return answer
    },
  }
}

const kubectl = (stack: StackInfo, ...args: string[]): string => {
  say(`\n$ kubectl ${args.join(' ')}`)
  return execFileSync(stack.kubectl, ['--kubeconfig', stack.kubeconfig, ...args], { encoding: 'utf8', timeout: stepMs })
}

const until = async <T>(what: string, look: () => Promise<T | undefined>): Promise<T> => {
  const deadlineMs = performance.now() + stepMs
  while (performance.now() < deadlineMs) {
    const seen = await look()
    if (seen !== undefined) return seen
    await new Promise((done) => setTimeout(done, pollMs))
  }
  throw new Error(`Waited ${stepMs / 1000} s for ${what}`)
}

/** The first line that the world's own port says. */
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

await startOrExit(async () => {
  const stack = readStack()
  const curl = createCurl(stack)
  say(`# a stack with ${stack.node === 'kwok' ? 'a simulated' : 'a real'} node; $KEY is its rootApiKey`)
  const { organizationId } = await curl.shown('POST', '/api/organizations/', { name: 'Acme' })
  curl.scope['x-svc-organization-id'] = String(organizationId)
  const { projectId } = await curl.shown('POST', '/api/organizations/projects/', { name: 'Showroom' })
  curl.scope['x-svc-project-id'] = String(projectId)
  const made = await curl.shown('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    runtime: { mapName: 'hall' },
  })
  const path = `/api/worlds/${made.worldId}/`
  const namespace = `${process.env.ORRERY_NAMESPACE_PREFIX || 'orrery'}-${organizationId}`

  await curl.shown('POST', `${path}start/`)
  const startedMs = performance.now()
  say(`\n$ until curl -s … ${stack.apiUrl}${path} | jq -e '.status.phase == "Active"'; do sleep 0.2; done`)
  const { status } = await until('the world to be Active', async () => {
    const world = await curl.quietly('GET', path)
    if (world.status?.phase === 'Error') throw new Error(`The world ended in Error: ${world.status.message}`)
    return world.status?.phase === 'Active' ? world : undefined
  })
  show(status)
  say(`# Active after ${((performance.now() - startedMs) / 1000).toFixed(1)} s`)
  show(kubectl(stack, 'get', 'worlds,pods', '-n', namespace))

  const address = kubectl(
    stack,
    'get',
    'world',
    String(made.worldId),
    '-n',
    namespace,
    '-o',
    'jsonpath={.status.address}',
  )
  show(address)
  if (stack.node === 'kwok') say('# a simulated node runs no container, so there is nobody to greet')
  else if (stack.node !== 'containerd') say('# the address is one of the cluster, which this machine need not reach')
  else {
    const { host, port } = JSON.parse(address) as { host: string; port: number }
    say(`\n$ nc ${host} ${port}`)
    show(await greet(host, port))
  }

  await curl.shown('POST', `${path}stop/`)
  await until('the server to stop', async () => {
    const pods = execFileSync(stack.kubectl, [
      '--kubeconfig',
      stack.kubeconfig,
      'get',
      'pods',
      '-n',
      namespace,
      '-o',
      'name',
    ])
    return pods.length === 0 ? true : undefined
  })
  show(await curl.shown('GET', `${path}deployments/`).then(() => ''))
  await curl.shown('DELETE', path)
  await until('the World to be gone', async () => {
    const left = execFileSync(stack.kubectl, [
      '--kubeconfig',
      stack.kubeconfig,
      'get',
      'worlds',
      '-n',
      namespace,
      '-o',
      'name',
    ])
    return left.length === 0 ? true : undefined
  })
  show(kubectl(stack, 'get', 'worlds,pods', '-n', namespace) || 'No resources found')
  say('\n# done')
})
