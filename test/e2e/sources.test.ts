import { existsSync, mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { cacheDir } from '#dev/kubernetes/binaries.ts'
import { createBareMachine } from '#test/support/bareMachine.ts'
import { aRunningWorld, forget, npmStart, type RunningStack, startMs } from '#test/support/npmStart.ts'
import { startOutsideCluster } from '#test/support/outsideCluster.ts'
import { createReleaseHost } from '#test/support/releaseHost.ts'

let machine: ReturnType<typeof createBareMachine>
let stateDir: string
let stacks: RunningStack[]

beforeEach(() => {
  machine = createBareMachine()
  stateDir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
  stacks = []
})
afterEach(async () => {
  for (const stack of stacks) await stop(stack)
  forget(stateDir)
  machine.remove()
})

const start = async (env: NodeJS.ProcessEnv, ...args: string[]): Promise<RunningStack> => {
  const stack = await npmStart(stateDir, args, { ...machine.environment, ...env })
  stacks.push(stack)
  return stack
}
const stop = async ({ child, exited }: RunningStack): Promise<number | null> => {
  child.kill('SIGINT')
  return exited
}
const failureOf = (env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> =>
  start(env, ...args).then(
    () => 'it started',
    (error: Error) => error.message,
  )

describe('npm start on a machine with nothing but', () => {
  let outside: Awaited<ReturnType<typeof startOutsideCluster>>
  beforeAll(async () => {
    outside = await startOutsideCluster()
  }, startMs)
  afterAll(() => outside?.stop())

  const kubeconfig = () => ({
    KUBECONFIG: outside.kubeconfig,
    ORRERY_DEFAULT_SERVER_IMAGE: 'registry.example/world-server:1',
    ORRERY_PUBLIC_URL: 'http://api.example:8080',
  })
  const expectHealthy = (): void => {
    expect(outside.kubectl('get', '--raw', '/readyz')).toBe('ok')
    outside.kubectl('wait', '--for=condition=Ready', '--timeout=120s', 'nodes', '--all')
  }

  test(
    'a KUBECONFIG runs worlds in that cluster and leaves it running',
    async () => {
      const stack = await start(kubeconfig())
      expect(stack.info).toMatchObject({ node: 'external', kubeconfig: outside.kubeconfig, kubectl: 'kubectl' })
      outside.kubectl('wait', '--for=condition=Established', '--timeout=120s', 'crd/worlds.orrery.dev')
      const world = await aRunningWorld(stack)
      const image = ['-o', 'jsonpath={.spec.containers[0].image}']
      expect(outside.kubectl('get', 'pod', world.id, '-n', world.namespace, ...image)).toBe(
        'registry.example/world-server:1',
      )
      expect(await stop(stack)).toBe(0)
      expectHealthy()
      expect(outside.kubectl('get', 'world', world.id, '-n', world.namespace, '-o', 'name')).toContain(world.id)

      // The same state folder with another cluster, which does not have those worlds.
      writeFileSync(join(stateDir, 'cluster'), 'the uid of another cluster')
      expect(await failureOf(kubeconfig())).toContain('belongs to another cluster')
    },
    startMs,
  )

  test('a KUBECONFIG of an unreachable cluster ends with an error that names it', async () => {
    const gone = join(stateDir, 'gone.kubeconfig')
    const config = outside.kubectl('config', 'view', '--raw', '-o', 'json')
    writeFileSync(gone, config.replace(/https:[^"]+/, 'https://127.0.0.1:1'))
    expect(await failureOf({ ...kubeconfig(), KUBECONFIG: gone })).toMatch(
      /cluster of .*gone\.kubeconfig cannot be used/,
    )
  })
})

describe.runIf(process.platform === 'linux')('npm start on a machine with release hosts and', () => {
  let host: Awaited<ReturnType<typeof createReleaseHost>>
  beforeEach(async () => {
    host = await createReleaseHost(cacheDir(process.env))
    host.hasKubernetes(['kube-controller-manager', 'kube-scheduler'])
    host.hasKwok()
  })
  afterEach(() => host.close())

  test(
    'nothing else runs worlds with the released programs',
    async () => {
      host.hasEnvtest(['v1.36.2'])
      const stack = await start(host.environment, '--node', 'kwok')
      expect(stack.info.kubectl).toContain(machine.environment.XDG_CACHE_HOME)
      await aRunningWorld(stack)
      expect(await stop(stack)).toBe(0)
    },
    startMs,
  )

  test(
    'KUBEBUILDER_ASSETS of envtest downloads the other programs',
    async () => {
      const assets = join(stateDir, 'assets')
      mkdirSync(assets)
      for (const name of ['etcd', 'kube-apiserver', 'kubectl'])
        symlinkSync(join(cacheDir(process.env), name), join(assets, name))
      const stack = await start({ ...host.environment, KUBEBUILDER_ASSETS: assets }, '--node', 'kwok')
      expect(stack.info.kubectl).toBe(join(assets, 'kubectl'))
      await aRunningWorld(stack)
      expect(host.asked).not.toContain('/index.yaml')
    },
    startMs,
  )
})

test('npm start on a machine without any source ends with one error that lists the alternatives', async () => {
  const said = await failureOf({}, '--node', 'kwok')
  expect(said).toContain('npm start ended with 1')
  expect(said).toContain(
    'This machine has no etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok',
  )
  for (const way of ['KUBECONFIG', 'KUBEBUILDER_ASSETS', 'network', 'Go 1.26']) expect(said).toContain(way)
  expect(existsSync(join(stateDir, 'stack.json'))).toBe(false)
})
