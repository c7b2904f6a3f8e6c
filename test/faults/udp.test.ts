import { execFileSync } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { idOf } from '#dev/cluster/id.ts'
import { missingForContainerd } from '#dev/node/index.ts'
import { placesOf } from '#dev/node/leftovers.ts'
import { findProgram } from '#dev/programs.ts'
import type { World } from '#shared/resources/world.ts'
import { aRunningWorld, forget, npmStart, type RunningStack, startMs } from '#test/support/npmStart.ts'
import { eventually, patience } from '#test/support/wait.ts'

// Services need nft beside the programs of the real node.
const isPossible = missingForContainerd(process.env).length === 0 && findProgram(process.env, 'nft') !== undefined
const slow = { timeoutMs: 60_000 }

describe.skipIf(!isPossible)('on the real node', () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-udp-'))
  let stack: RunningStack
  beforeAll(async () => {
    stack = await npmStart(stateDir, ['--node', 'containerd'])
  }, startMs)
  afterAll(async () => {
    stack?.child.kill('SIGINT')
    await stack?.exited
    forget(stateDir)
  })

  const kubectl = (...args: string[]): string =>
    execFileSync(stack.info.kubectl, ['--kubeconfig', stack.info.kubeconfig, ...args], {
      encoding: 'utf8',
      timeout: 60_000 * patience,
    })
  const aServer = async (strategy: string) => {
    const networking = { strategy, scaling: { profile: 'Capacity10' } }
    const world = await aRunningWorld(stack, { networking })
    const at = ['-n', world.namespace] as const
    const podIp = kubectl(...at, 'get', 'pod', world.id, '-o=jsonpath={.status.podIP}')
    const { status }: World = JSON.parse(kubectl(...at, 'get', 'world', world.id, '-o=json'))
    const isGone = (kind: string) =>
      eventually(`no ${kind}`, async () => kubectl(...at, 'get', kind, world.id, '--ignore-not-found') === '', slow)
    return { ...world, podIp, address: status?.address, isGone }
  }
  type Server = Awaited<ReturnType<typeof aServer>>

  /** Sends datagrams from one port to the address of a world until the test ends, and counts the answers of each world. */
  const aPlayerOf = ({ address }: Server) => {
    const answers = new Map<string, number>()
    let sent = 0
    const socket = createSocket('udp4')
    socket.on('error', () => undefined)
    socket.on('message', (data) => {
      const { worldId } = JSON.parse(data.toString()) as { worldId: string }
      answers.set(worldId, (answers.get(worldId) ?? 0) + 1)
    })
    const sending = setInterval(() => {
      sent += 1
      socket.send('hello', address?.port ?? 0, address?.host)
    }, 50)
    onTestFinished(() => {
      clearInterval(sending)
      socket.close()
    })
    return {
      answersOf: ({ id }: Server): number => answers.get(id) ?? 0,
      sendsMore: (): Promise<unknown> => {
        const enough = sent + 40
        return eventually('more datagrams', async () => sent >= enough)
      },
    }
  }

  /** Makes the node give that address to its next pod. */
  const giveNext = (podIp: string): void => {
    const { runDir, network } = placesOf(idOf(stateDir))
    const file = join(runDir, 'ipam', network, 'last_reserved_ip.0')
    expect(readFileSync(file, 'utf8')).toMatch(/^\d+(\.\d+){3}$/)
    writeFileSync(
      file,
      podIp.replace(/\d+$/, (last) => String(Number(last) - 1)),
    )
  }

  test.each([
    ['stopped', 'ClusterIP', 'POST', 'stop/'],
    ['stopped', 'NodePort', 'POST', 'stop/'],
    ['deleted', 'ClusterIP', 'DELETE', ''],
  ])(
    'datagrams to a world that was %s (%s) do not reach the server that gets the address of its server',
    async (_, strategy, method, verb) => {
      const world = await aServer(strategy)
      const player = aPlayerOf(world)
      await eventually('the player is answered', async () => player.answersOf(world) >= 10, slow)
      expect((await world.client.call(method, `${world.path}${verb}`)).status).toBe(200)
      await world.isGone('pod')
      await world.isGone('service')
      giveNext(world.podIp)
      const next = await aServer('Default')
      expect(next.podIp).toBe(world.podIp)
      await player.sendsMore()
      expect(player.answersOf(next)).toBe(0)
    },
  )
})
