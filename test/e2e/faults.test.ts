import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { idOf } from '#dev/cluster/id.ts'
import { packBusyboxImage } from '#dev/images/image.ts'
import { missingForContainerd } from '#dev/node/index.ts'
import { placesOf } from '#dev/node/leftovers.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { aRunningWorld, forget, npmStart, type RunningStack, startMs } from '#test/support/npmStart.ts'
import { eventually, patience } from '#test/support/wait.ts'

const missing = missingForContainerd(process.env)
const slow = { timeoutMs: 100_000 }
const graceSeconds = 4

describe.skipIf(missing.length > 0)('on the real node, a server that', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
  let stack: RunningStack
  let busybox = ''

  const kubectl = (...args: string[]): string =>
    execFileSync(stack.info.kubectl, ['--kubeconfig', stack.info.kubeconfig, ...args], {
      encoding: 'utf8',
      timeout: 60_000 * patience,
    })
  const stop = async (): Promise<void> => {
    stack?.child.kill('SIGINT')
    await stack?.exited
  }
  const apply = (object: object): void => {
    const file = join(stateDir, 'applied.json')
    writeFileSync(file, JSON.stringify(object))
    kubectl('apply', '-n', 'default', '-f', file)
  }

  beforeAll(async () => {
    // A low memory limit, so that the server exceeds it before it affects this machine.
    stack = await npmStart(stateDir, ['--node', 'containerd'])
    const profile = { Capacity10: 'memoryLimit: 64Mi\ncpuLimit: 500m\n' }
    apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'orrery-scaling-profiles' }, data: profile })
    await stop()
    stack = await npmStart(stateDir, ['--node', 'containerd'], {
      ORRERY_SCALING_PROFILES: 'default/orrery-scaling-profiles',
      ORRERY_STOP_GRACE_SECONDS: String(graceSeconds),
      ORRERY_RESTART_BACKOFF_MS: '200',
      ORRERY_RESTART_BACKOFF_MAX_MS: '500',
    })
    const { reference, tarFile } = await packBusyboxImage(join(stateDir, 'images'))
    const socket = join(placesOf(idOf(stateDir)).runDir, 'containerd.sock')
    execFileSync('ctr', ['--address', socket, '--namespace', 'k8s.io', 'images', 'import', tarFile])
    busybox = reference
  }, startMs)
  afterAll(async () => {
    await stop()
    forget(stateDir)
  })

  /** Creates a World whose server runs that shell command. */
  const aWorld = (name: string, line: string, spec: WorldSpecInput = {}) => {
    const runtime = { image: busybox, probes: false, args: ['sh', '-c', line] }
    apply({
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'World',
      metadata: { name },
      spec: { state: 'Running', scaling: { profile: 'Capacity10' }, runtime, ...spec },
    })
    const read = (): World => JSON.parse(kubectl('-n', 'default', 'get', 'world', name, '-o', 'json'))
    const shows = (type: string, wanted: string) =>
      eventually(
        `${type} ${wanted}`,
        async () => {
          const world = read()
          const condition = world.status?.conditions?.find((each) => each.type === type)
          const seen = `${condition?.status}/${condition?.reason}`
          if (seen !== wanted) throw new Error(`it is ${seen}: ${world.status?.message}`)
          return world
        },
        slow,
      )
    return {
      shows,
      pods: (): string => kubectl('-n', 'default', 'get', 'pods', '-l', `orrery.dev/world=${name}`, '-o', 'name'),
      stop: () =>
        kubectl('-n', 'default', 'patch', 'world', name, '--type=merge', '-p', '{"spec":{"state":"Stopped"}}'),
    }
  }

  test('exceeds its memory limit is restarted three times and then ends in Error', async () => {
    const world = aWorld('greedy', 'exec /bin/busybox tail /dev/zero')
    const seen = await world.shows('Degraded', 'True/OutOfMemory')
    expect(seen.status?.message).toContain('exceeded its memory limit of 64Mi')
    const ended = await world.shows('Ready', 'False/RestartBudget')
    expect(ended.status).toMatchObject({ phase: 'Error', run: { restarts: 4 } })
    await eventually('no pod', async () => world.pods() === '', slow)
  })

  test('keeps failing ends in Error with its exit code', async () => {
    const world = aWorld('crasher', 'sleep 1; exit 7')
    await world.shows('Degraded', 'True/CrashLoop')
    const ended = await world.shows('Ready', 'False/RestartBudget')
    expect(ended.status?.message).toContain('exit code 7')
  })

  test('has an image that does not exist waits, with the cause in an event', async () => {
    const image = 'registry.invalid/no/such-server:1'
    const world = aWorld('imageless', '', { runtime: { image, probes: false } })
    const seen = await world.shows('Degraded', 'True/ImagePullFailed')
    expect(seen.status).toMatchObject({ phase: 'Starting', run: { restarts: 0 } })
    expect(seen.status?.message).toContain('The server image cannot be pulled.')
    await eventually('the event', async () =>
      kubectl('-n', 'default', 'get', 'events.events.k8s.io', '-o', 'jsonpath={.items[*].note}').includes(
        `Cause: ${image}`,
      ),
    )
    world.stop()
    await eventually('no pod', async () => world.pods() === '', slow)
  })

  test('ignores SIGTERM is killed after its grace period, not before', async () => {
    const world = aWorld('stubborn', 'trap "" TERM; while :; do sleep 1; done')
    await world.shows('Ready', 'True/ServerReady')
    const askedMs = performance.now()
    world.stop()
    expect((await world.shows('Ready', 'False/Stopped')).status?.deployment?.status).toBe('Stopping')
    await eventually('no pod', async () => world.pods() === '', slow)
    const tookMs = performance.now() - askedMs
    expect(tookMs).toBeGreaterThanOrEqual(graceSeconds * 1_000)
    const ended = await world.shows('Progressing', 'False/Stopped')
    expect(ended.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopped' } })
  })

  test('has players reports their number in REST', async () => {
    const ports = [{ name: 'game', containerPort: 9000 }]
    const networking = { strategy: 'Default', ports, scaling: { profile: 'Capacity10' } }
    const world = await aRunningWorld(stack, { networking })
    const path = '-o=jsonpath={.status.address}'
    const address = JSON.parse(kubectl('get', 'world', world.id, '-n', world.namespace, path))
    expect(address.port).toBe(9000)
    const player = connect(address.port, address.host)
    player.on('error', () => undefined)
    const active = async (): Promise<number | undefined> => {
      const { body } = await world.client.call<{ queueState: { active: number } }>('GET', world.path)
      return body.queueState.active
    }
    await eventually('one inside', async () => (await active()) === 1, slow)
    player.destroy()
    await eventually('nobody inside', async () => (await active()) === 0, slow)
  })

  test('is on a node with a silent kubelet is Unknown, is not replaced, and recovers with the kubelet', async () => {
    const world = aWorld('remote', 'sleep 3600')
    const before = await world.shows('Ready', 'True/ServerReady')
    const mark = `hostname-override=orrery-${idOf(stateDir)}`
    const line = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
      .split('\n')
      .find((each) => each.includes(mark))
    const kubelet = Number.parseInt(line ?? '', 10)
    process.kill(kubelet, 'SIGSTOP')
    try {
      const seen = await world.shows('Ready', 'Unknown/NodeUnreachable')
      expect(seen.status).toMatchObject({ phase: 'Active', deployment: { status: 'Unknown' } })
    } finally {
      process.kill(kubelet, 'SIGCONT')
    }
    const after = await world.shows('Ready', 'True/ServerReady')
    expect(after.status?.deployment?.externalId).toBe(before.status?.deployment?.externalId)
    expect(after.status?.run?.restarts).toBe(0)
  })
})
