import { execFileSync, spawnSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { missingForContainerd } from '#dev/node/index.ts'
import { findServicePrograms } from '#dev/node/services.ts'
import { stackMark } from '#dev/process.ts'
import { findProgram } from '#dev/programs.ts'
import { aRunningWorld, aStartedWorld, forget, npmStart, type RunningStack, startMs } from '#test/support/npmStart.ts'
import { addMachine, type PlayerAddress } from '#test/support/otherMachine.ts'
import { inNewProject, type WorldBody } from '#test/support/rest.ts'
import { eventually, patience } from '#test/support/wait.ts'
import { testConsole } from './console.ts'
import { testQueries } from './queries.ts'

const missing = missingForContainerd(process.env)
/** Undefined beside another kube-proxy, such as that of an `npm start` on this machine. */
const services =
  missing.length > 0 ? undefined : await findServicePrograms({ env: process.env, progress: () => undefined })

const namesIn = (dir: string): string[] => (existsSync(dir) ? readdirSync(dir).sort() : [])

/** Lists the mounts, interfaces, network namespaces and processes that a stack could leave on the machine. */
const traces = () => ({
  mounts: readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .filter((line) => line.includes('orrery-e2e') || line.includes('/run/orrery-')),
  interfaces: execFileSync('ip', ['-o', 'link'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /\borr[0-9a-f]{8}\b/.test(line))
    .map((line) => line.split(':')[1]),
  networkNamespaces: namesIn('/run/netns'),
  cniResults: namesIn('/var/lib/cni/results'),
  processes: execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('orrery-e2e') && !line.startsWith('ps ')),
  // The tables of iptables stay without a rule, since other programs use them too.
  tables: (findProgram(process.env, 'nft') === undefined
    ? ''
    : execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' })
  )
    .split('\n')
    .filter((line) => !/^table ip6? nat$/.test(line)),
  hostPorts: execFileSync('iptables-save', ['-t', 'nat'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes('CNI-')),
})

/** A host port that a world may name. */
const staticPort = 27_015
const hostPorts = `default=7000-8000,static=${staticPort}`

const isOfStack = (pid: string, stateDir: string, program: string): boolean => {
  try {
    const [environment, command] = ['environ', 'cmdline'].map((file) => readFileSync(`/proc/${pid}/${file}`, 'utf8'))
    return environment?.includes(`${stackMark}=${stateDir}\0`) === true && command?.includes(program) === true
  } catch {
    // The process has ended since the folder was listed.
    return false
  }
}

const rest = async ({ info }: RunningStack) => inNewProject(info.apiUrl, info.rootApiKey)

const kubectl = ({ info }: RunningStack, ...args: string[]): string =>
  execFileSync(info.kubectl, ['--kubeconfig', info.kubeconfig, ...args], {
    encoding: 'utf8',
    timeout: 30_000 * patience,
  })

/** Returns the first line that a TCP port sends. */
const firstLine = (host: string, port: number): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const socket = connect({ host, port, timeout: 5_000 * patience })
    socket.once('data', (data) => {
      resolve(JSON.parse(data.toString().split('\n')[0] ?? ''))
      socket.destroy()
    })
    socket.once('timeout', () => socket.destroy(new Error('no answer')))
    socket.once('error', reject)
  })

const datagram = (host: string, port: number): Promise<Record<string, unknown>> =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    socket.once('message', (data) => {
      resolve(JSON.parse(data.toString()))
      socket.close()
    })
    socket.once('error', reject)
    socket.send('?', port, host)
  })

describe.skipIf(missing.length > 0)('on the real node', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
  /** Kills the process of this stack that runs the program. */
  const kill = (program: string): void => {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && isOfStack(name, stateDir, program))
    expect(pids).toHaveLength(1)
    process.kill(Number(pids[0]), 'SIGKILL')
  }
  let before: ReturnType<typeof traces>
  let stack: RunningStack

  beforeAll(async () => {
    before = traces()
    const placement = [{ group: 'staging', runtimeClassName: 'plain' }]
    stack = await npmStart(stateDir, ['--node', 'containerd'], {
      ORRERY_PLACEMENT: JSON.stringify(placement),
      ORRERY_HOST_PORTS: hostPorts,
    })
  }, startMs)
  afterAll(async () => {
    stack?.child.kill('SIGINT')
    await stack?.exited
    forget(stateDir)
  })

  test('a started world answers on its pod IP over TCP and UDP', async () => {
    const world = await aRunningWorld(stack, { runtime: { mapName: 'hall' } })
    const address = JSON.parse(
      kubectl(stack, 'get', 'world', world.id, '-n', world.namespace, '-o', 'jsonpath={.status.address}'),
    )
    expect(await firstLine(address.host, address.port)).toMatchObject({ worldId: world.id, mapName: 'hall' })
    expect(await datagram(address.host, address.port)).toMatchObject({ event: 'hello', worldId: world.id })
    expect(kubectl(stack, 'logs', world.id, '-n', world.namespace)).toContain('"message":"ready"')
    kubectl(stack, 'wait', '--for=condition=Ready', '--timeout=120s', `world/${world.id}`, '-n', world.namespace)
  })

  test('the processes of a pod have a limit', async () => {
    const world = await aRunningWorld(stack)
    const uid = kubectl(stack, 'get', 'pod', world.id, '-n', world.namespace, '-o', 'jsonpath={.metadata.uid}')
    const found = spawnSync('find', ['/sys/fs/cgroup', '-path', `*pod${uid}/pids.max`], { encoding: 'utf8' })
    expect(readFileSync(found.stdout.trim(), 'utf8')).toBe('1024\n')
  })

  test('a server of a placement with a RuntimeClass runs with the handler of the class', async () => {
    const file = join(stateDir, 'runtime-class.json')
    const runtimeClass = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'plain' } }
    writeFileSync(file, JSON.stringify({ ...runtimeClass, handler: 'runc' }))
    kubectl(stack, 'apply', '-f', file)
    const world = await aRunningWorld(stack, { compute: { group: 'staging', region: 'Europe' } })
    const path = 'jsonpath={.spec.runtimeClassName}'
    expect(kubectl(stack, 'get', 'pod', world.id, '-n', world.namespace, '-o', path)).toBe('plain')
  })

  test('a stop sends SIGTERM, and the server notifies its players', async () => {
    const world = await aRunningWorld(stack)
    const address = JSON.parse(
      kubectl(stack, 'get', 'world', world.id, '-n', world.namespace, '-o', 'jsonpath={.status.address}'),
    )
    const socket = connect(address.port, address.host)
    let heard = ''
    socket.on('data', (data) => (heard += data))
    socket.on('error', () => undefined)
    await eventually('the welcome', async () => heard.includes('welcome'))
    await world.client.call('POST', `${world.path}stop/`)
    await eventually('the farewell', async () => heard.includes('closing'))
    expect(
      kubectl(stack, 'get', 'pod', world.id, '-n', world.namespace, '-o', 'jsonpath={.metadata.deletionTimestamp}'),
    ).not.toBe('')
    socket.destroy()
    await eventually('no pod', async () => kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name') === '')
    await world.phase('Stopped')
  })

  test('bots enter their world, are counted by its server, and leave with it', async () => {
    const world = await aRunningWorld(stack)
    expect((await world.client.call('POST', `${world.path}bots/`, { count: 3 })).status).toBe(200)
    const phase = async () => {
      const [bots] = (await world.client.call<{ status: { phase: string } }[]>('GET', `${world.path}bots/`)).body
      return bots?.status.phase
    }
    await eventually('the bots are Running', async () => (await phase()) === 'Running', { timeoutMs: 60_000 })
    const address = JSON.parse(
      kubectl(stack, 'get', 'world', world.id, '-n', world.namespace, '-o', 'jsonpath={.status.address}'),
    )
    // Three bots and this query.
    expect(await firstLine(address.host, address.port)).toMatchObject({ event: 'welcome', players: 4 })
    const bots = ['pods', '-n', world.namespace, '-l', 'orrery.dev/bot-deployment']
    expect(
      kubectl(stack, 'get', ...bots, '-o', 'name')
        .trim()
        .split('\n'),
    ).toHaveLength(3)
    await world.client.call('POST', `${world.path}stop/`)
    await eventually('no pod', async () => kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name') === '')
    await eventually('the bots are Stopped', async () => (await phase()) === 'Stopped')
  })

  test.skipIf(services === undefined).each(['ClusterIP', 'NodePort'])(
    'players reach the server of a %s world, and never its bots, at the address of its service',
    async (strategy) => {
      const world = await aRunningWorld(stack, { networking: { strategy } })
      const of = (path: string): string =>
        kubectl(stack, 'get', 'world', world.id, '-n', world.namespace, '-o', `jsonpath=${path}`)
      const { host, port } = JSON.parse(of('{.status.address}'))
      expect(host).not.toBe(
        kubectl(stack, 'get', 'pod', world.id, '-n', world.namespace, '-o', 'jsonpath={.status.podIP}'),
      )
      const players = async () => (await firstLine(host, port)).players
      await eventually('an answer over TCP', async () => (await players().catch(() => 0)) === 1)
      await world.client.call('POST', `${world.path}bots/`, { count: 3 })
      kubectl(
        stack,
        'wait',
        '--for=jsonpath={.status.ready}=3',
        '--timeout=60s',
        'bots',
        '--all',
        '-n',
        world.namespace,
      )
      const slices = ['endpointslices', '-n', world.namespace, '-l', `kubernetes.io/service-name=${world.id}`]
      const names = 'jsonpath={.items[*].endpoints[*].targetRef.name}'
      expect(kubectl(stack, 'get', ...slices, '-o', names)).toBe(world.id)
      for (let each = 0; each < 50; each += 1) {
        expect(await firstLine(host, port)).toMatchObject({ event: 'welcome' })
        expect(await datagram(host, port)).toMatchObject({ event: 'hello', worldId: world.id })
      }
      await eventually('the bots among the players', async () => (await players()) === 4)
      await world.client.call('POST', `${world.path}stop/`)
      await world.phase('Stopped')
    },
  )

  describe('with host ports', () => {
    let players: ReturnType<typeof addMachine>
    let client: Awaited<ReturnType<typeof rest>>
    beforeAll(async () => {
      players = addMachine()
      client = await rest(stack)
      const limits = `/api/organizations/${client.scope.organizationId}/limits/`
      expect((await client.call('PATCH', limits, { hostPorts: true })).status).toBe(200)
    })
    afterAll(() => players.remove())

    const withPort = (port: object = {}) => ({
      networking: { strategy: 'HostPort', ports: [{ name: 'game', containerPort: 7_777, ...port }] },
    })
    const protocols = ['TCP', 'UDP'] as const
    type AWorld = Awaited<ReturnType<typeof aRunningWorld>>
    const of = ({ id, namespace }: AWorld, kind: string, path: string): string =>
      kubectl(stack, 'get', kind, id, '-n', namespace, '-o', `jsonpath=${path}`)
    const addressOf = (world: AWorld): Omit<PlayerAddress, 'protocol'> =>
      JSON.parse(of(world, 'world', '{.status.addresses[0]}'))
    const stop = async (world: AWorld): Promise<void> => {
      expect((await world.client.call('POST', `${world.path}stop/`)).status).toBe(200)
      await world.phase('Stopped')
      await eventually('no pod', async () => !kubectl(stack, 'get', 'pods', '-n', world.namespace).includes(world.id))
    }

    test('players on another machine reach each server by their own address, until it stops', async () => {
      const started = [{}, {}, { policy: 'Passthrough' }].map((port) => aRunningWorld(stack, withPort(port), client))
      const open = (await Promise.all(started)).map((world) => ({ world, address: addressOf(world) }))
      expect(new Set(open.map(({ address }) => address.port)).size).toBe(3)
      for (const { world, address } of open) {
        for (const protocol of protocols) {
          const greeting = players.greet({ ...address, protocol })
          expect(greeting).toMatchObject({ worldId: world.id, client: players.address })
        }
      }
      const listens = open.map(({ world }) => of(world, 'pod', '{.spec.containers[0].ports[0].containerPort}'))
      expect(listens).toEqual(['7777', '7777', String(open[2]?.address.port)])
      for (const { world, address } of open) {
        await stop(world)
        for (const protocol of protocols) expect(() => players.greet({ ...address, protocol })).toThrow('ECONNREFUSED')
      }
    })

    const staticWorld = withPort({ policy: 'Static', hostPort: staticPort })

    test('a player who keeps sending from one port reaches the restarted server', async () => {
      const world = await aRunningWorld(stack, staticWorld, client)
      const player = players.keepSending(addressOf(world))
      onTestFinished(player.stop)
      await eventually('an answer', async () => player.answers.at(-1)?.worldId === world.id)
      await stop(world)
      expect((await client.call('POST', `${world.path}start/`)).status).toBe(200)
      const { runId } = (await world.phase('Active')).status
      await eventually('an answer of the new run', async () => player.answers.at(-1)?.runId === runId)
      await stop(world)
    })

    test('a world whose static port is taken starts when it is free, and its players reach it', async () => {
      const first = await aRunningWorld(stack, staticWorld, client)
      expect(addressOf(first).port).toBe(staticPort)
      const player = players.keepSending(addressOf(first))
      onTestFinished(player.stop)
      await eventually('an answer', async () => player.answers.at(-1)?.worldId === first.id)
      const second = await aStartedWorld(stack, staticWorld, client)
      await eventually('the reason PortTaken', async () =>
        of(second, 'world', '{.status.conditions[*].reason}').includes('PortTaken'),
      )
      await stop(first)
      await second.phase('Active')
      await eventually('an answer of the second server', async () => player.answers.at(-1)?.worldId === second.id)
      await stop(second)
    })
  })

  test.skipIf(services === undefined)('pods resolve the names of services and reach them', async () => {
    const world = await aRunningWorld(stack)
    const script = `require('node:net').connect(443, 'kubernetes.default.svc.cluster.local', () => {
      console.log('connected')
      process.exit()
    })`
    const node = ['--', '/opt/orrery/bin/node', '-e', script]
    expect(kubectl(stack, 'exec', world.id, '-n', world.namespace, ...node)).toBe('connected\n')
  })

  test('a server on a drained node is replaced, and an event names the eviction', async () => {
    const world = await aRunningWorld(stack)
    const pods = (path: string): string =>
      kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', `jsonpath=${path}`)
    const [node, first] = [pods('{.items[*].spec.nodeName}'), pods('{.items[*].metadata.uid}')]
    kubectl(stack, 'drain', node, `--pod-selector=orrery.dev/world=${world.id}`, '--delete-emptydir-data')
    kubectl(stack, 'uncordon', node)
    await eventually('another pod', async () => !['', first].includes(pods('{.items[*].metadata.uid}')))
    kubectl(stack, 'wait', '--for=condition=Ready', '--timeout=120s', `pod/${world.id}`, '-n', world.namespace)
    const named = async () => {
      const { body } = await world.client.call<{ reason: string; message: string }[]>('GET', `${world.path}events/`)
      return body.find(({ reason }) => reason === 'Evicted')?.message
    }
    expect(await eventually('the event', named)).toContain('The cluster evicted the server.')
  })

  test('a deleted server is replaced, and exit code 0 ends the run', async () => {
    const world = await aRunningWorld(stack)
    const pods = (path: string): string =>
      kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', `jsonpath=${path}`)
    const first = pods('{.items[*].metadata.uid}')
    kubectl(stack, 'delete', 'pod', world.id, '-n', world.namespace, '--grace-period=0', '--force')
    await eventually('another pod', async () => !['', first].includes(pods('{.items[*].metadata.uid}')), {
      timeoutMs: 30_000,
    })
    kubectl(stack, 'wait', '--for=condition=Ready', '--timeout=120s', `pod/${world.id}`, '-n', world.namespace)
    expect((await world.phase('Active')).status.runId).toBe(pods('{.items[*].metadata.labels.orrery\\.dev/run}'))
    const script = 'process.kill(1, "SIGTERM")'
    const exec = ['exec', world.id, '-n', world.namespace, '--', '/opt/orrery/bin/node', '-e', script]
    // The end of the container may end this process before it exits.
    spawnSync(stack.info.kubectl, ['--kubeconfig', stack.info.kubeconfig, ...exec])
    await world.phase('Stopped')
  })

  testConsole(() => stack)
  testQueries(() => stack, stateDir)

  describe('logs over REST', () => {
    const keyOf = async (client: Awaited<ReturnType<typeof rest>>, verb: string): Promise<string> => {
      const permissions = [`organizations/${client.scope.organizationId}/**:${verb}`]
      const made = await client.call<{ apiKey: string }>('POST', '/api/organizations/apiKeys/', {
        displayName: 'logs',
        permissions,
      })
      return made.body.apiKey
    }
    const read = async (
      { client, path }: Awaited<ReturnType<typeof aRunningWorld>>,
      query: string,
      {
        accept = 'text/plain',
        key = stack.info.rootApiKey,
        signal,
      }: { accept?: string; key?: string; signal?: AbortSignal } = {},
    ) =>
      fetch(`${stack.info.apiUrl}${path}${query}`, {
        headers: {
          accept,
          'x-api-key': key,
          'x-svc-organization-id': client.scope.organizationId ?? '',
          'x-svc-project-id': client.scope.projectId ?? '',
        },
        ...(signal && { signal }),
      })
    /** Writes text to the output of a server, as the server would. */
    const write = (world: { id: string; namespace: string }, text: string): void => {
      const script = `require('node:fs').writeFileSync('/proc/1/fd/1', ${JSON.stringify(text)})`
      kubectl(stack, 'exec', world.id, '-n', world.namespace, '--', '/opt/orrery/bin/node', '-e', script)
    }

    test('gives the log of a running server as plain text, only to callers that may change the world', async () => {
      const world = await aRunningWorld(stack)
      const response = await read(world, 'logs/')
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8')
      expect(response.headers.get('x-content-type-options')).toBe('nosniff')
      expect(await response.text()).toContain('"message":"ready"')
      expect((await read(world, 'logs/', { key: await keyOf(world.client, 'w') })).status).toBe(200)
      expect((await read(world, 'logs/', { key: await keyOf(world.client, 'r') })).status).toBe(403)
      expect((await read(world, 'logs/', { key: await keyOf(await rest(stack), 'w') })).status).toBe(404)
      expect((await read(world, 'logs/?since=2000-01-01T00:00:00Z')).status).toBe(200)
    })

    test('follows a log with server-sent events that no line can forge', async () => {
      const world = await aRunningWorld(stack)
      const reading = new AbortController()
      const { signal } = reading
      const response = await read(world, 'logs/?follow', { accept: 'text/event-stream', signal })
      expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
      let text = ''
      const done = (async () => {
        for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
      })().catch(() => undefined)
      await eventually('the first lines', async () => text.includes('"message":"ready"'))
      write(world, 'new line\rdata: not a field\revent: end\n')
      await eventually('the new line', async () => text.includes('data: event: end\n\n'))
      expect(text).toContain('data: new line\n\ndata: data: not a field\n\n')
      expect(text.split('\n').filter((line) => line === 'event: end')).toEqual([])
      reading.abort()
      await done
    })

    test('ends a followed log with the server, and keeps the end of it after the pod was deleted', async () => {
      const world = await aRunningWorld(stack)
      write(world, 'the last words\n')
      const response = await read(world, 'logs/?follow', { accept: 'text/event-stream' })
      const followed = response.text()
      const script = 'process.kill(1, "SIGTERM")'
      const exec = ['exec', world.id, '-n', world.namespace, '--', '/opt/orrery/bin/node', '-e', script]
      spawnSync(stack.info.kubectl, ['--kubeconfig', stack.info.kubeconfig, ...exec])
      expect(await followed).toMatch(/data: the last words\n\n[\s\S]*event: end\ndata: \{"reason":"End"\}\n\n$/)
      await world.phase('Stopped')
      await eventually('no pod', async () => kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name') === '')
      const deployments = await world.client.call<{ id: string; endReason: string }[]>(
        'GET',
        `${world.path}deployments/`,
      )
      expect(deployments.body).toMatchObject([{ endReason: 'Completed' }])
      const kept = await eventually('the kept log', async () => {
        const answer = await read(world, `logs/?deployment=${deployments.body[0]?.id}`)
        return answer.status === 200 && answer.text()
      })
      expect(kept).toContain('the last words\n')
    })

    test('gives the log of a bot', async () => {
      const world = await aRunningWorld(stack)
      const made = await world.client.call('POST', `${world.path}bots/`, { count: 2 })
      const bots = made.headers.get('location')?.split('/').at(-2) ?? ''
      const log = await eventually(
        'the log of bot 1',
        async () => {
          const answer = await read(world, `bots/${bots}/logs/?bot=1`)
          const text = await answer.text()
          return answer.status === 200 && text !== '' && text
        },
        { timeoutMs: 60_000 },
      )
      expect(log).toContain('"')
      expect((await read(world, `bots/${bots}/logs/?bot=7`)).status).toBe(409)
    })
  })

  test('a World that kubectl creates runs, and leaves no pod when kubectl deletes it', async () => {
    const file = join(stateDir, 'by-hand.json')
    const spec = { state: 'Running', runtime: { mapName: 'attic' } }
    writeFileSync(
      file,
      JSON.stringify({ apiVersion: 'orrery.dev/v1alpha1', kind: 'World', metadata: { name: 'by-hand' }, spec }),
    )
    kubectl(stack, 'apply', '-n', 'default', '-f', file)
    kubectl(stack, 'wait', '--for=condition=Ready', '--timeout=120s', 'world/by-hand', '-n', 'default')
    kubectl(stack, 'delete', 'world', 'by-hand', '-n', 'default')
    await eventually('no pod', async () => kubectl(stack, 'get', 'pods', '-n', 'default', '-o', 'name') === '', {
      timeoutMs: 60_000,
    })
  })

  test('the commands of the README work when pasted', () => {
    const readme = readFileSync('README.md', 'utf8')
    const tour = /<!-- tour -->\n```bash\n([\s\S]*?)```/.exec(readme)?.[1] ?? 'exit 9'
    const said = execFileSync('bash', ['--norc', '-euo', 'pipefail', '-c', tour], {
      env: { ...process.env, ORRERY_STATE_DIR: stateDir },
      encoding: 'utf8',
      timeout: 90_000 * patience,
    })
    expect(said).toMatch(/Lobby +Active/)
    expect(said).toContain('"mapName":"hall"')
  })

  test('npm run demo succeeds', () => {
    const env = { ...process.env, ORRERY_STATE_DIR: stateDir }
    const said = execFileSync(process.execPath, ['dev/demo.ts'], { env, encoding: 'utf8', timeout: 90_000 * patience })
    expect(said).toMatch(/^# 2\S+Z Active/m)
    expect(said).toContain('"event":"welcome"')
    expect(said.trimEnd().endsWith('# done')).toBe(true)
  })

  test('npm run doctor compares everything with the settings of the stack, and finds no difference', async () => {
    const env = { ...process.env, ORRERY_STATE_DIR: stateDir, ORRERY_HOST_PORTS: hostPorts }
    await eventually('no difference', async () => {
      const { stdout, stderr } = spawnSync(process.execPath, ['dev/orrery.ts', 'doctor'], { env, encoding: 'utf8' })
      if (stdout !== 'Rows, resources, pods and namespaces agree.\n') throw new Error(stdout + stderr)
      return true
    })
  })

  test('the output names the console, which the API serves', async () => {
    const address = /console +(\S+)/.exec(stack.output())?.[1] ?? ''
    expect(address).toBe(`${stack.info.apiUrl}/console/`)
    expect(await (await fetch(address)).text()).toContain('<div id="console">')
  })

  test('stack.json is readable only by its owner', () => {
    expect(execFileSync('stat', ['-c', '%a', join(stateDir, 'stack.json')], { encoding: 'utf8' }).trim()).toBe('600')
  })

  test.each(['api', 'operator'])('restarts the %s when it is killed', async (name) => {
    kill(`${name}/main.ts`)
    await eventually('the restart', async () => stack.output().includes(`the ${name} ended: signal SIGKILL; restart 1`))
    await eventually('a ready process', async () => (await fetch(`${stack.info.apiUrl}/readyz`)).ok)
    await aRunningWorld(stack)
  })

  test('Ctrl-C leaves nothing behind, and the next start restores the worlds', async () => {
    const world = await aRunningWorld(stack)
    stack.child.kill('SIGINT')
    expect(await stack.exited).toBe(0)
    expect(traces()).toEqual(before)
    stack = await npmStart(stateDir, ['--node', 'containerd'])
    const again = { ...world.client, call: (await rest(stack)).call }
    expect(again).toBeDefined()
    const listed = await fetch(`${stack.info.apiUrl}${world.path}`, {
      headers: {
        'x-api-key': stack.info.rootApiKey,
        'x-svc-organization-id': world.client.scope.organizationId ?? '',
        'x-svc-project-id': world.client.scope.projectId ?? '',
      },
    })
    expect(listed.status).toBe(200)
    await eventually(
      'a pod again',
      async () => kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name') !== '',
      {
        timeoutMs: 30_000,
      },
    )
  })

  test('the next start cleans up after a stack that was killed', async () => {
    await aRunningWorld(stack)
    stack.child.kill('SIGKILL')
    await stack.exited
    stack = await npmStart(stateDir, ['--node', 'containerd'])
    const world = await aRunningWorld(stack)
    expect(kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name')).toContain(world.id)
  })
})

test(
  'on a simulated node a world becomes Active with a message that says so',
  async () => {
    const stateDir = mkdtempSync(join(tmpdir(), 'orrery-e2e-'))
    const stack = await npmStart(stateDir, ['--node', 'kwok'])
    try {
      const world = await aRunningWorld(stack)
      const { body } = await world.client.call<WorldBody>('GET', world.path)
      expect(body.status.message).toContain('simulated')
      await world.client.call('POST', `${world.path}stop/`)
      await eventually('no pod', async () => kubectl(stack, 'get', 'pods', '-n', world.namespace, '-o', 'name') === '')
    } finally {
      stack.child.kill('SIGINT')
      await stack.exited
      forget(stateDir)
    }
  },
  startMs,
)
