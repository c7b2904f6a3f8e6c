import { describe, expect, test } from 'vitest'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { findCondition } from '#operator/lifecycle/events.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { at, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  allotPorts,
  answered,
  aPod,
  applyStatus,
  asked,
  captured,
  conditionOf,
  foreign,
  notReady,
  planFor,
  ready,
  running,
  settings,
  silent,
  stopped,
  waitingFor,
} from '#operator/testing/world.ts'
import { podPorts } from '#shared/domain/ports.ts'
import type { World, WorldSpecInput } from '#shared/resources/world.ts'
import { checkQuery } from '#shared/why/remedies.ts'
import { findAskedServer } from './askedServer.ts'
import { createHostPortUse } from './hostPorts.ts'
import type { QueryResult } from './query/answer.ts'
import type { PlanInput } from './step.ts'

const server = aPod({ status: ready(), metadata: { creationTimestamp: at(startMs) } })
const a2s = asked({ protocol: 'A2S' })
const waitsForA2s = 'Waiting for the server to answer A2S at UDP port 7777.'
const see = (world: World, queried?: QueryResult, afterMs = 20_000, pod: Pod = server) =>
  planFor(world, pod, startMs + afterMs, runB, { queried })
/** The world after it saw its server with each of these results. */
const seeing = (spec: WorldSpecInput, ...results: (QueryResult | undefined)[]): World =>
  results.reduce((world, queried) => applyStatus(world, see(world, queried)), captured(spec))
const corrected: QueryResult = { ...answered(), note: 'The server reports 900 players.' } as QueryResult
const responding = (world: World, queried?: QueryResult, afterMs = 30_000): string =>
  conditionOf(see(world, queried, afterMs).status, 'Responding')

describe('the server that is asked', () => {
  const find = (spec: WorldSpecInput, pod: Pod = server, queried?: QueryResult, around: Partial<PlanInput> = {}) => {
    const world = around.world ?? captured(spec)
    const input: PlanInput = {
      world,
      pod,
      settings,
      queried,
      nowMs: startMs + 20_000,
      node: undefined,
      service: undefined,
      route: 'unserved',
      serviceUnusedMs: 0,
      answerAgeMs: 0,
      hasBots: false,
      policy: {},
      newRunId: () => runB,
      allotPorts,
      hostPorts: createHostPortUse(settings.hostPorts).of('default/world'),
      ...around,
    }
    const { status } = planFor(world, pod, input.nowMs, runB, { queried })
    return findAskedServer(input, status)
  }
  const ask = (...args: Parameters<typeof find>) => {
    const found = find(...args)
    if (found === undefined) return undefined
    const { query, isAwaited } = found
    return `${query.protocol} ${query.port} ${query.timeoutMs}${isAwaited ? ' awaited' : ''}`
  }
  const udp = { name: 'query', containerPort: 27_015, protocol: 'UDP', expose: 'Internal' } as const
  const game = { name: 'game', containerPort: 9_000 }
  const unready = aPod({ status: notReady(startMs) })
  const withPorts = (runtime: WorldSpecInput['runtime'], ports: object[]): WorldSpecInput =>
    ({ ...running, runtime, networking: { ports } }) as WorldSpecInput

  test.each<[string, WorldSpecInput, string | undefined]>([
    ['without a query and with probes', running, 'Http 8080 2000'],
    ['without a query and without probes', asked(undefined, false), undefined],
    ['with Http and probes', asked({ timeoutSeconds: 3 }), 'Http 8080 3000'],
    ['with Http and without probes', asked({}, false), 'Http 8080 2000 awaited'],
    ['with A2S', a2s, 'A2S 7777 2000 awaited'],
    [
      'with MinecraftJava at the port of the probes',
      asked({ protocol: 'MinecraftJava', port: 8080 }),
      'MinecraftJava 8080 2000 awaited',
    ],
    [
      'with SQP at an internal port',
      withPorts({ query: { protocol: 'SQP', port: 27_015 } }, [game, udp]),
      'SQP 27015 2000 awaited',
    ],
    ['with a query that no port fits', withPorts({ query: { protocol: 'A2S', port: 1 } }, [game]), undefined],
  ])('%s', (_, spec, expected) => {
    expect(ask(spec)).toBe(expected)
  })

  test.each<[string, WorldSpecInput, Pod]>([
    ['is not Ready', running, unready],
    ['must answer and is not Ready for the kubelet', a2s, unready],
    ['has no address', a2s, aPod({ status: { ...ready(), podIP: '' } as never })],
    ['is being deleted', a2s, { ...server, metadata: { ...server.metadata, deletionTimestamp: at(startMs) } }],
    ['is a pod of another run', a2s, aPod({ run: runB, status: ready() })],
    ["is a stranger's", a2s, { ...server, metadata: { ...server.metadata, ownerReferences: [] } }],
    ['belongs to a run that has ended', { ...a2s, ...stopped }, server],
  ])('is none if the pod %s', (_, spec, pod) => {
    const gone = pod.status?.podIP === '' ? { ...pod, status: { ...pod.status, podIP: undefined } as never } : pod
    expect(ask(spec, gone)).toBeUndefined()
  })

  test.each<[string, WorldSpecInput, QueryResult | undefined, object | undefined]>([
    ['its queue', a2s, answered(5), { active: 5, queued: 0 }],
    ['nobody, without a query and a queue', running, undefined, { active: 0, queued: 0 }],
    ['nothing, with a query and no answer', a2s, undefined, undefined],
    ['nothing, with a note about its counts, which may be outdated', a2s, corrected, undefined],
  ])('has on record %s', (_, spec, queried, expected) => {
    expect(find(spec, server, queried)?.recorded).toEqual(expected)
  })

  test('of a world that may sleep has nothing on record, and is due once its time to sleep has come', () => {
    const sleepy = { ...running, idleStopMinutes: 15 }
    expect(find(sleepy)).toMatchObject({ recorded: undefined, isDue: false })
    expect(find(sleepy, server, answered(5))).toMatchObject({ recorded: undefined, isDue: false })
    expect(find(running)).toMatchObject({ isDue: false })
    const empty = applyStatus(captured(sleepy), see(captured(sleepy)))
    const dueAfterMs = 20_000 + 15 * 60_000
    expect(find(sleepy, server, undefined, { world: empty, nowMs: startMs + dueAfterMs - 1 })).toMatchObject({
      isDue: false,
    })
    expect(find(sleepy, server, undefined, { world: empty, nowMs: startMs + dueAfterMs })).toMatchObject({
      isDue: true,
    })
  })

  test('is no longer awaited once it has answered', () => {
    expect(ask(a2s, server, answered())).toBe('A2S 7777 2000')
  })

  test('listens on its host port with the policy Passthrough, and with no other', () => {
    const spec = (policy: string): WorldSpecInput =>
      ({ ...a2s, networking: { strategy: 'HostPort', ports: [{ ...game, policy }] } }) as WorldSpecInput
    const { ports } = captured(spec('Dynamic')).status?.run ?? { ports: [] }
    const onHost = {
      ...server,
      spec: { nodeName: 'node-1', containers: [{ name: 'server', ports: podPorts(ports, [7_123]) }] },
    }
    expect(ask(spec('Passthrough'), onHost)).toBe('A2S 7123 2000 awaited')
    expect(ask(spec('Dynamic'), onHost)).toBe('A2S 9000 2000 awaited')
  })
})

describe('a server that must answer', () => {
  test.each<[string, WorldSpecInput, string]>([
    ['A2S', a2s, waitsForA2s],
    ['A2S without probes', asked({ protocol: 'A2S' }, false), waitsForA2s],
    ['Http without probes', asked({}, false), 'Waiting for the server to answer Http at TCP port 8080.'],
  ])('by %s is Starting until its first answer, whose time is that of its start', (_, spec, message) => {
    const waiting = seeing(spec, undefined)
    expect(waiting.status).toMatchObject({ phase: 'Starting', message, deployment: { status: 'Starting' } })
    expect(conditionOf(waiting.status ?? {}, 'Ready')).toBe('False/Starting')
    const begun = see(waiting, answered(), 25_000).status
    expect(begun).toMatchObject({
      phase: 'Active',
      queue: { active: 3 },
      run: { readyAt: at(startMs + 25_000), readyPodUid: 'pod-uid' },
    })
    const running = { ...waiting, status: begun }
    for (const queried of [answered(), undefined]) expect(see(running, queried, 40_000).status).toEqual(begun)
  })

  test.each<[string, WorldSpecInput]>([
    ['without a query', running],
    ['with Http and probes', asked({})],
    ['without a query and probes', asked(undefined, false)],
  ])('is none %s', (_, spec) => {
    expect(seeing(spec, undefined).status).toMatchObject({ phase: 'Active', run: { readyAt: at(startMs + 1_000) } })
  })

  test('says that its answers are not usable', () => {
    expect(see(seeing(a2s, undefined), foreign).status.message).toBe(
      `${waitsForA2s} The answer is of another protocol. Check the protocol.`,
    )
    expect(see(seeing(a2s, undefined), silent).status.message).toBe(waitsForA2s)
  })

  test('needs at most one status write more than a probed one', () => {
    const slow = aPod({ metadata: { creationTimestamp: at(startMs) }, status: { phase: 'Running' } })
    const countWrites = (spec: WorldSpecInput, seen: (second: number) => [Pod, QueryResult | undefined]): number => {
      let world = captured(spec)
      let writes = 0
      for (let second = 0; second <= 30; second += 0.5) {
        const [pod, queried] = seen(second)
        const planned = see(world, queried, second * 1_000, pod)
        const isWritten = !planned.deferStatus && JSON.stringify(planned.status) !== JSON.stringify(world.status)
        if (isWritten) world = applyStatus(world, planned)
        writes += Number(isWritten)
      }
      expect(world.status?.phase).toBe('Active')
      return writes
    }
    const probed = countWrites(running, (second) => [second < 30 ? slow : server, undefined])
    const pending = aPod({ metadata: { creationTimestamp: at(startMs) } })
    const polled = (second: number): QueryResult | undefined =>
      second < 6 ? undefined : second < 30 ? silent : answered()
    const awaited = countWrites(a2s, (second) => [second < 3 ? pending : server, polled(second)])
    expect(awaited - probed).toBeLessThanOrEqual(1)
  })

  test.each<[string, QueryResult | undefined, string]>([
    ['is silent', silent, `${waitsForA2s} ${checkQuery}`],
    ['is not known yet', undefined, `${waitsForA2s} ${checkQuery}`],
    ['answers otherwise', foreign, `${waitsForA2s} The answer is of another protocol. Check the protocol.`],
  ])('and %s at the start deadline ends its run with the reason', (_, queried, reason) => {
    const { status } = see(seeing(a2s, undefined), queried, settings.startDeadlineMs)
    const endMessage = `The server was not ready in time: w${reason.slice(1)}`
    expect(status).toMatchObject({ phase: 'Error', run: { endReason: 'StartDeadline', endMessage } })
    expect(conditionOf(status, 'Degraded')).toBe('True/StartDeadline')
    expect(conditionOf(status, 'Responding')).toBe('undefined/undefined')
  })

  test('must answer again after its restart, and counts as failed if it does not in time', () => {
    const next = { ...server, metadata: { ...server.metadata, uid: 'next' } }
    const restarted = see(seeing(a2s, answered()), undefined, 20_000, next).status
    expect(restarted).toMatchObject({ phase: 'Active', message: waitsForA2s, deployment: { status: 'Restarting' } })
    expect(conditionOf(restarted, 'Ready')).toBe('False/Starting')
    const late = see(seeing(a2s, answered()), silent, settings.startDeadlineMs, next).status
    expect(late.run).toMatchObject({ restarts: 1, failure: { reason: 'NotReadyInTime' } })
    expect(late.message).toContain(`not ready in time: w${waitsForA2s.slice(1)} ${checkQuery}`)
  })

  test('waits for its address after its answer', () => {
    const spec = { ...a2s, networking: { strategy: 'LoadBalancer' } } as const
    const { status } = see(captured(spec), answered())
    expect(conditionOf(status, 'Ready')).toBe('False/AddressPending')
    expect(status.run).not.toHaveProperty('readyAt')
  })

  test('and is Ready needs no other answer when its pod is Ready again', () => {
    const lost = aPod({ status: notReady(startMs + 50_000), metadata: server.metadata })
    const world = applyStatus(seeing(a2s, answered()), see(seeing(a2s, answered()), undefined, 60_000, lost))
    expect(conditionOf(world.status ?? {}, 'Ready')).toBe('False/ServerNotReady')
    expect(conditionOf(world.status ?? {}, 'Responding')).toBe('undefined/undefined')
    const back = aPod({ status: ready(startMs + 70_000), metadata: server.metadata })
    expect(see(world, undefined, 80_000, back).status.run?.readyAt).toBe(at(startMs + 70_000))
  })
})

describe('a server with a query that is Ready', () => {
  test.each<[string, WorldSpecInput]>([
    ['A2S', a2s],
    ['Http', asked({})],
  ])('and falls silent stays Active by %s without counts, until it answers again', (_, spec) => {
    const world = seeing(spec, undefined, answered(5))
    const { status } = see(world, silent, 300_000)
    expect(status).toMatchObject({ phase: 'Active', run: world.status?.run })
    expect(status.queue).toBeUndefined()
    expect([conditionOf(status, 'Ready'), conditionOf(status, 'Degraded')]).toEqual([
      'True/ServerReady',
      'False/AsExpected',
    ])
    const still = applyStatus(world, see(world, silent, 300_000))
    expect(see(still, undefined, 400_000).status).toEqual(status)
    expect(see(still, answered(0), 400_000).status.queue).toEqual({ active: 0, queued: 0 })
  })

  test('has a first report of 0 and 0 in its status', () => {
    expect(seeing(a2s, answered(0)).status?.queue).toEqual({ active: 0, queued: 0 })
    expect(seeing(asked({}), undefined, answered(0)).status?.queue).toEqual({ active: 0, queued: 0 })
  })

  test('without a query has no report while it is silent, and no condition', () => {
    const world = seeing(running, answered(5))
    const { queue, ...rest } = world.status ?? {}
    expect(queue).toEqual({ active: 5, queued: 0 })
    expect(see(world, silent).status).toEqual(rest)
  })
})

describe('the condition Responding', () => {
  test.each<[string, World, QueryResult | undefined, string]>([
    ['before the first answer of an awaited server', captured(a2s), undefined, 'Unknown/NoAnswerYet'],
    ['before the first answer of a Ready server', captured(asked({})), undefined, 'Unknown/NoAnswerYet'],
    ['of a server that answers', captured(a2s), answered(), 'True/Answered'],
    ['of a server whose counts are not possible', captured(a2s), corrected, 'True/CountsCorrected'],
    ['of a silent server', captured(a2s), silent, 'False/NoAnswer'],
    ['of a server of another protocol', captured(a2s), foreign, 'False/UnknownAnswer'],
    ['of a Ready server that is silent', seeing(a2s, answered()), silent, 'False/NoAnswer'],
    ['after a restart of the operator', seeing(a2s, answered(), foreign), undefined, 'False/UnknownAnswer'],
    ['without a query', captured(), answered(), 'undefined/undefined'],
  ])('%s', (_, world, queried, expected) => {
    expect(responding(world, queried)).toBe(expected)
  })

  test('has a sentence', () => {
    const message = (queried?: QueryResult) => findCondition(see(captured(a2s), queried).status, 'Responding')?.message
    expect([undefined, answered(), corrected, silent].map(message)).toEqual([
      waitsForA2s,
      '',
      'The server reports 900 players.',
      'The server has not answered.',
    ])
  })

  test('ends with its run, its server and its query', () => {
    const world = seeing(a2s, answered())
    const gone = (next: World, pod?: Pod) => conditionOf(planFor(next, pod, startMs + 30_000).status, 'Responding')
    const stop = { ...world, spec: { ...world.spec, ...stopped } }
    const other = { ...world, spec: { ...world.spec, runId: runB } }
    for (const seen of [
      gone(stop, server),
      gone(other, server),
      gone(other),
      gone(world),
      gone(world, aPod({ uid: 'next', status: waitingFor('ErrImagePull') })),
    ]) {
      expect(seen).toBe('undefined/undefined')
    }
  })

  test('stays as it is while the world is paused, and while a write is refused', () => {
    const world = seeing(a2s, answered(), silent)
    const paused = { ...world, metadata: { ...world.metadata, annotations: { 'orrery.dev/paused': 'true' } } }
    expect(responding(paused, answered())).toBe('False/NoAnswer')
    const refusal = { reason: 'Refused', message: 'The API server refused the service.' }
    const refused = refusedStatus(world.status, see(world, silent).status, refusal, startMs)
    expect([conditionOf(refused, 'Responding'), conditionOf(refused, 'Degraded')]).toEqual([
      'False/NoAnswer',
      'True/Refused',
    ])
  })

  test('of the previous server is not kept for the next one', () => {
    const next = { ...server, metadata: { ...server.metadata, uid: 'next' } }
    const { status } = see(seeing(a2s, answered(), silent), undefined, 20_000, next)
    expect(conditionOf(status, 'Responding')).toBe('Unknown/NoAnswerYet')
    expect(active().status?.conditions?.map(({ type }) => type)).toEqual(['Degraded', 'Progressing', 'Ready'])
  })
})
