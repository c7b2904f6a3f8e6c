import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { type WorldReason, worldReasons } from './reasons.ts'
import { checkQuery, remedies } from './remedies.ts'
import { explainWorld, maxOthers, type WhyFacts, type WhyRun } from './why.ts'
import { failureMessages, formatDuration, splitAdvice, splitFailure } from './wording.ts'

const at = (ms: number): string => new Date(ms).toISOString()
const sinceMs = Date.parse('2026-11-21T08:00:00.000Z')
const nowMs = sinceMs + 90_000
const startedAt = at(sinceMs - 360_000)
const lastTransitionAt = at(sinceMs)

const ready = (reason: string, message: string, status = 'False') => ({
  type: 'Ready',
  status,
  reason,
  message,
  lastTransitionAt,
})
const degraded = (reason: string, message: string) => ({ ...ready(reason, message, 'True'), type: 'Degraded' })
const synced = (reason: string, message: string) => ({ ...ready(reason, message), type: 'Synced' })
const run: WhyRun = { runId: 'run-1', restarts: 0, startedAt }

type Facts = Partial<WhyFacts>
const starting = (reason: WorldReason, message: string): Facts => ({
  phase: 'Starting',
  conditions: [ready(reason, message), degraded(reason, message)],
})
const waiting = (reason: WorldReason, message: string): Facts => ({
  phase: 'Starting',
  conditions: [ready(reason, message)],
})
const running = (condition: ReturnType<typeof ready>): Facts => ({
  phase: 'Active',
  conditions: [ready('ServerReady', '', 'True'), condition],
})
const ended = (reason: WorldReason, message: string): Facts => ({
  phase: 'Stopped',
  conditions: [ready(reason, message)],
})
const failed = (reason: WorldReason, failure: string, exitCode?: number): Facts => {
  const message = failureMessages.usedUp(failure, 4)
  return {
    phase: 'Error',
    conditions: [ready('RestartBudget', message), degraded(reason, message)],
    run: { ...run, restarts: 4, endedAt: at(sinceMs), ...(exitCode !== undefined && { exitCode }) },
  }
}
const restarting = (reason: WorldReason, failure: string, exitCode?: number): Facts => ({
  ...starting(reason, failureMessages.restarted(failure, 2, 3)),
  run: { ...run, restarts: 2, ...(exitCode !== undefined && { exitCode }) },
})
const replacing = (reason: WorldReason, failure: string): Facts => starting(reason, failureMessages.replaced(failure))

const why = (facts: Facts) =>
  explainWorld({ name: 'Lobby', phase: 'Active', conditions: [], others: 0, ...facts }, nowMs)

/** A realistic state for each reason of the page, and its sentence. */
const sentences: Record<WorldReason, [facts: Facts, sentence: string]> = {
  ImagePullFailed: [
    starting(
      'ImagePullFailed',
      'The server image cannot be pulled. Check the image of the build, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): its server image cannot be pulled. Check the image of the build, or ask the platform operator.',
  ],
  ContainerCannotStart: [
    starting(
      'ContainerCannotStart',
      'The container of the server cannot start. Check the image and its arguments, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the container of its server cannot start. Check the image and its arguments, or ask the platform operator.',
  ],
  Unschedulable: [
    starting(
      'Unschedulable',
      'No node has room for the server. Choose a smaller scaling profile, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): no node has room for its server. Choose a smaller scaling profile, or ask the platform operator.',
  ],
  SchedulingGated: [
    starting('SchedulingGated', 'A scheduling gate holds the server. Ask the platform operator.'),
    'Lobby is not ready (for 1 minute): a scheduling gate holds its server. Ask the platform operator.',
  ],
  QuotaExceeded: [
    starting(
      'QuotaExceeded',
      'The quota of the namespace has no room for the server. Stop other worlds or bots, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the quota of the namespace has no room for its server. Stop other worlds or bots, or ask the platform operator.',
  ],
  NodePortsExhausted: [
    starting(
      'NodePortsExhausted',
      'The cluster has no free node port for the service. Stop another world, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the cluster has no free node port for the service. Stop another world, or ask the platform operator.',
  ],
  ClusterIPsExhausted: [
    starting(
      'ClusterIPsExhausted',
      'The cluster has no free ClusterIP for the service. Stop another world, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the cluster has no free ClusterIP for the service. Stop another world, or ask the platform operator.',
  ],
  PortsExhausted: [
    starting('PortsExhausted', `No node with free host ports was found for the server. ${remedies.PortsExhausted}`),
    'Lobby is not ready (for 1 minute): no node with free host ports was found for its server. Stop another world, or ask the platform operator for more ports or addresses.',
  ],
  PortTaken: [
    starting('PortTaken', `A host port of the policy Static is in use. ${remedies.PortTaken}`),
    'Lobby is not ready (for 1 minute): a host port of the policy Static is in use. Choose another host port, or ask the platform operator which world uses it.',
  ],
  RouteNotAvailable: [
    starting('RouteNotAvailable', `The cluster of the world has no Gateway. ${remedies.RouteNotAvailable}`),
    'Lobby is not ready (for 1 minute): the cluster of the world has no Gateway. Choose another networking strategy, or ask the platform operator for a Gateway.',
  ],
  RouteNotAccepted: [
    starting(
      'RouteNotAccepted',
      `The Gateway has not answered for 10 seconds. It must exist, and its controller must run. ${remedies.RouteNotAccepted}`,
    ),
    'Lobby is not ready (for 1 minute): the Gateway has not answered for 10 seconds. It must exist, and its controller must run. Ask the platform operator.',
  ],
  HostPortNotAllowed: [
    starting('HostPortNotAllowed', `Servers of this namespace may not use host ports. ${remedies.HostPortNotAllowed}`),
    'Lobby is not ready (for 1 minute): servers of this namespace may not use host ports. Choose another networking strategy, or ask the platform operator to allow host ports.',
  ],
  SizeNotAllowed: [
    starting(
      'SizeNotAllowed',
      'The namespace does not allow the size of the server. Choose a smaller size, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the namespace does not allow the size of its server. Choose a smaller size, or ask the platform operator.',
  ],
  ImageNotAllowed: [
    starting(
      'ImageNotAllowed',
      'Images from this registry may not run here. Use an allowed registry, or ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): images from this registry may not run here. Use an allowed registry, or ask the platform operator.',
  ],
  AdmissionRefused: [
    starting('AdmissionRefused', 'A policy of the cluster refused the server. Ask the platform operator.'),
    'Lobby is not ready (for 1 minute): a policy of the cluster refused its server. Ask the platform operator.',
  ],
  NotPermitted: [
    starting('NotPermitted', 'The operator lacks a permission for the server. Ask the platform operator.'),
    'Lobby is not ready (for 1 minute): the operator lacks a permission for its server. Ask the platform operator.',
  ],
  NamespaceTerminating: [
    starting(
      'NamespaceTerminating',
      'The namespace is being deleted and does not accept the server. Ask the platform operator.',
    ),
    'Lobby is not ready (for 1 minute): the namespace is being deleted and does not accept its server. Ask the platform operator.',
  ],
  Refused: [
    starting('Refused', 'The API server refused the server. Ask the platform operator.'),
    'Lobby is not ready (for 1 minute): the API server refused its server. Ask the platform operator.',
  ],
  NameNotAllowed: [
    starting(
      'NameNotAllowed',
      `The networking strategy needs a Service of the name of the world. ${remedies.NameNotAllowed}`,
    ),
    'Lobby is not ready (for 1 minute): the networking strategy needs a Service of the name of the world. Choose another networking strategy, or create the world under a name of a-z, 0-9 and - that begins with a letter.',
  ],
  PodNameTaken: [
    starting('PodNameTaken', 'Pod wld-1 belongs to another owner. Ask the platform operator to delete it.'),
    'Lobby is not ready (for 1 minute): pod wld-1 belongs to another owner. Ask the platform operator to delete it.',
  ],
  ServiceNameTaken: [
    starting('ServiceNameTaken', 'Service wld-1 belongs to another owner. Ask the platform operator to delete it.'),
    'Lobby is not ready (for 1 minute): service wld-1 belongs to another owner. Ask the platform operator to delete it.',
  ],
  RouteNameTaken: [
    starting('RouteNameTaken', 'HTTPRoute wld-1 belongs to another owner. Ask the platform operator to delete it.'),
    'Lobby is not ready (for 1 minute): HTTPRoute wld-1 belongs to another owner. Ask the platform operator to delete it.',
  ],
  OutOfMemory: [
    {
      ...failed('OutOfMemory', 'The server exceeded its memory limit of 4Gi. Choose a larger scaling profile.', 137),
      others: 13,
    },
    'Lobby is not running: its server failed 4 times in 6 minutes and is not restarted any more. The last time it exceeded its memory limit of 4Gi (exit code 137). Choose a larger scaling profile, then start it. 13 other worlds have this problem.',
  ],
  ServerFailed: [
    restarting('ServerFailed', 'The server failed with exit code 3.', 3),
    'Lobby is not ready (for 1 minute): its server failed with exit code 3. This is restart 2 of 3. Check the log of the server.',
  ],
  CrashLoop: [
    failed('CrashLoop', 'The server failed with exit code 3.', 3),
    'Lobby is not running: its server failed 4 times in 6 minutes and is not restarted any more. The last time it failed with exit code 3. Check the log of the server, then start it.',
  ],
  NotReadyInTime: [
    restarting('NotReadyInTime', 'The restarted server was not ready in time: waiting for a node.'),
    'Lobby is not ready (for 1 minute): its restarted server was not ready in time: waiting for a node. This is restart 2 of 3. Check the log of the server.',
  ],
  ServerNotReady: [
    {
      phase: 'Active',
      conditions: ['Ready', 'Degraded'].map((type) => ({
        ...ready(
          'ServerNotReady',
          'The server no longer reports that it is ready. Check its log.',
          type === 'Ready' ? 'False' : 'True',
        ),
        type,
      })),
    },
    'Lobby is not ready (for 1 minute): its server no longer reports that it is ready. Check its log.',
  ],
  Evicted: [
    replacing('Evicted', 'The cluster evicted the server.'),
    'Lobby is not ready (for 1 minute): the cluster evicted its server. Wait for its replacement.',
  ],
  NodeRefused: [
    replacing('NodeRefused', 'The node did not admit the server.'),
    'Lobby is not ready (for 1 minute): the node did not admit its server. Wait for its replacement.',
  ],
  NodeLost: [
    replacing('NodeLost', 'The node of the server was lost.'),
    'Lobby is not ready (for 1 minute): the node of its server was lost. Wait for its replacement.',
  ],
  AddressMissing: [
    running(degraded('AddressMissing', 'Waiting for the address of the server. Its last address is shown.')),
    'Lobby is running, but needs attention (for 1 minute): waiting for the address of its server. Its last address is shown. Wait, or ask the platform operator to check the node or the load balancer.',
  ],
  NodeUnreachable: [
    {
      phase: 'Active',
      conditions: [
        ready('NodeUnreachable', '', 'Unknown'),
        degraded(
          'NodeUnreachable',
          'Node w1 has not reported since 2026-11-21T08:00:00Z, so the server may still run there. Wait for the node to return, or ask the platform operator to delete the Node or mark it as out of service.',
        ),
      ],
    },
    'Lobby may be unreachable (for 1 minute): node w1 has not reported since 2026-11-21T08:00:00Z, so its server may still run there. Wait for the node to return, or ask the platform operator to delete the Node or mark it as out of service.',
  ],
  TerminationStuck: [
    {
      phase: 'Stopped',
      conditions: [
        degraded(
          'TerminationStuck',
          'The server should have stopped at 2026-11-21T08:00:00Z, but node w1 has not confirmed its end.',
        ),
      ],
    },
    'Lobby is not running, and needs attention (for 1 minute): its server should have stopped at 2026-11-21T08:00:00Z, but node w1 has not confirmed its end. Ask the platform operator.',
  ],
  StartDeadline: [
    {
      phase: 'Error',
      conditions: [degraded('StartDeadline', failureMessages.late('Waiting for the server to become ready.'))],
      run: { ...run, endedAt: at(sinceMs) },
      others: 1,
    },
    'Lobby is not running: its server was not ready in time. The reason: waiting for the server to become ready. Check that the server becomes ready, then start the world again. 1 other world has this problem.',
  ],
  RestartBudget: [
    { phase: 'Error', conditions: [ready('RestartBudget', 'The server failed too often.')], others: 1_001 },
    'Lobby is not running: its server failed too often. Fix the last error, then start the world again. More than 1,000 other worlds have this problem.',
  ],
  Starting: [waiting('Starting', 'Waiting for a node.'), 'Lobby is starting (for 1 minute): waiting for a node.'],
  PreviousRun: [
    waiting('PreviousRun', 'Waiting for the server of the previous run to stop.'),
    'Lobby is starting (for 1 minute): waiting for the server of the previous run to stop.',
  ],
  ServerDeleted: [
    { phase: 'Active', conditions: [ready('ServerDeleted', 'The server was deleted. Waiting for it to stop.')] },
    'Lobby is restarting (for 1 minute): its server was deleted. Waiting for it to stop.',
  ],
  AddressPending: [
    waiting('AddressPending', 'Waiting for the address of the server.'),
    'Lobby is starting (for 1 minute): waiting for the address of its server.',
  ],
  LoadBalancerPending: [
    waiting('LoadBalancerPending', 'Waiting for the load balancer to get an address.'),
    'Lobby is starting (for 1 minute): waiting for the load balancer to get an address.',
  ],
  HostPortPending: [
    waiting('HostPortPending', 'Looking for a node with free host ports.'),
    'Lobby is starting (for 1 minute): looking for a node with free host ports.',
  ],
  RoutePending: [
    waiting('RoutePending', 'Waiting for the Gateway to accept the route of the world.'),
    'Lobby is starting (for 1 minute): waiting for the Gateway to accept the route of the world.',
  ],
  WaitingForApi: [
    ended('WaitingForApi', 'Waiting for the API to confirm the start.'),
    'Lobby waits to start (for 1 minute): waiting for the API to confirm the start.',
  ],
  Deleting: [
    ended('Deleting', 'The world is being deleted. Waiting for the server to stop.'),
    'Lobby is being deleted: waiting for its server to stop.',
  ],
  Paused: [
    running({
      ...ready('Paused', 'Paused: remove the annotation orrery.dev/paused to continue.'),
      type: 'Progressing',
    }),
    'Lobby is running, and its changes are paused: remove the annotation orrery.dev/paused to continue.',
  ],
  ServerReady: [{ phase: 'Active', conditions: [ready('ServerReady', '', 'True')] }, 'Lobby is running.'],
  Stopped: [ended('Stopped', 'The world was stopped.'), 'Lobby is stopped.'],
  Expired: [ended('Expired', 'The duration of the run is over.'), 'Lobby is stopped: the duration of the run is over.'],
  Idle: [
    ended('Idle', 'Nobody was in the world for 15 minutes.'),
    'Lobby is stopped: nobody was in the world for 15 minutes.',
  ],
  Completed: [ended('Completed', 'The server ended the run.'), 'Lobby is stopped: its server ended the run.'],
  NeverStarted: [{ phase: 'Inactive', conditions: [ready('NeverStarted', '')] }, 'Lobby was never started.'],
  EditRefused: [
    running(
      synced('EditRefused', 'spec.runtime.image was put back: the program comes from the build that REST names.'),
    ),
    'Lobby is running, but needs attention (for 1 minute): spec.runtime.image was put back: the program comes from the build that REST names. Change the resource to a value that is allowed.',
  ],
  PushRefused: [
    running(synced('PushRefused', 'A policy of the cluster refuses the resource. Ask the platform operator.')),
    'Lobby is running, but needs attention (for 1 minute): a policy of the cluster refuses the resource. Ask the platform operator.',
  ],
  EditRefusedAgain: [
    running(
      synced(
        'EditRefusedAgain',
        'spec.state was put back: it needs room. It was written again after each refusal, so it was not put back.',
      ),
    ),
    'Lobby is running, but needs attention (for 1 minute): spec.state was put back: it needs room. It was written again after each refusal, so it was not put back. Change the value in the tool that writes it again and again.',
  ],
  StartWaits: [
    {
      phase: 'Stopped',
      conditions: [
        ready('WaitingForApi', 'Waiting for the API to confirm the start.'),
        synced(
          'StartWaits',
          'The running worlds of the organization would have a total capacity of 60. The limit is 50 (maxRunningCapacity). Stop another world first. The start is tried again.',
        ),
      ],
    },
    'Lobby waits to start (for 1 minute): the running worlds of the organization would have a total capacity of 60. The limit is 50 (maxRunningCapacity). Stop another world first. The start is tried again.',
  ],
}

test.each(Object.entries(sentences))('%s has a sentence', (reason, [facts, sentence]) => {
  expect(why(facts)).toMatchObject({ reason: reason === 'ServerReady' ? '' : reason, sentence })
})

describe('docs/worlds.md', () => {
  const page = readFileSync(new URL('../../docs/worlds.md', import.meta.url), 'utf8')
  /** Returns the part of the page from one text to another. */
  const part = (from: string, to: string): string => {
    const [, after] = page.split(from)
    const [found] = after?.split(to) ?? []
    if (found === undefined) throw new Error(`The page has no part from "${from}" to "${to}".`)
    return found
  }
  const namesIn = (text: string): string[] => [...text.matchAll(/`([A-Z]\w+)`/g)].map(([, name = '']) => name)
  const firstColumn = (table: string): string =>
    table
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) => line.split('|')[1])
      .join('\n')

  /** REST has no world whose resource has one of these reasons. */
  const unreached = [
    'LimitReached',
    'NotAdopted',
    'OrganizationDeleted',
    'Orphan',
    'ProjectNotFound',
    'Stranger',
    'WorldNotFound',
  ]

  test('has the reasons of the code, and no others', () => {
    const reasons = [
      ...namesIn(firstColumn(part('## Why a world is not Ready', 'Temporary reasons are'))),
      ...namesIn(part('Temporary reasons are', 'A refused write is retried')),
      ...namesIn(firstColumn(part('### Worlds that kubectl creates', '## Events'))),
    ]
    expect(reasons.length).toBeGreaterThan(50)
    const reached = reasons.filter((reason) => !unreached.includes(reason))
    expect([...new Set(reached)].sort()).toEqual([...worldReasons].sort())
  })
})

describe('every explanation', () => {
  const all = Object.entries(sentences).map(([reason, [facts]]): [string, ReturnType<typeof why>] => [
    reason,
    why(facts),
  ])

  test.each(all)('of %s names the world first, and is made of sentences', (_, { summary, sentence }) => {
    expect(summary).toMatch(/^Lobby .*\.$/)
    expect(sentence).toContain(summary.slice(0, -1))
    expect(sentence).toMatch(/^Lobby [^:]*(: \S.*)?\.$/)
    expect(sentence).not.toMatch(/\.\.| {2}|undefined|NaN/)
  })

  test.each(all)('of %s says what to do if somebody has to act', (_, { state, remedy, actions, sentence }) => {
    const isWrong = state === 'Failed' || state === 'NeedsAttention'
    if (isWrong) expect(sentence).toContain(remedy?.replace(/\.$/, ''))
    // What is written with kubectl is changed with kubectl.
    const isOfKubectl = remedy !== undefined && !/operator|log|Wait/.test(remedy)
    if (!isOfKubectl && state !== 'Running') expect(actions).not.toEqual([])
  })
})

test('what the operator writes about failures is read again', () => {
  const failure = 'The server failed with exit code 3.'
  const read = (message: string) => splitFailure(message).failure
  const { replaced, restarted, usedUp } = failureMessages
  for (const message of [replaced(failure), restarted(failure, 1, 3), usedUp(failure, 1), usedUp(failure, 4)]) {
    expect(read(message)).toBe('the server failed with exit code 3.')
  }
  expect(read(failureMessages.late(failure))).toBe('the server failed with exit code 3.')
  expect(read(failure)).toBe(failure)
})

test.each(Object.values(remedies))('"%s" is read as advice', (remedy) => {
  expect(splitAdvice(`The server failed. ${remedy}`)).toEqual({ facts: 'The server failed.', advice: remedy })
})

describe('a world that sleeps', () => {
  const [facts] = sentences.Idle
  const nobody = 'Lobby sleeps: nobody was in the world for 15 minutes.'

  test.each([
    [true, 'A user who enters wakes it, and so does a start.'],
    [false, 'Start it to wake it.'],
  ])('says what wakes it (on access: %s)', (wakesOnAccess, remedy) => {
    const explained = why({ ...facts, sleep: { wakesOnAccess } })
    expect(explained).toMatchObject({ state: 'Stopped', summary: 'Lobby sleeps.', remedy, reason: 'Idle' })
    expect(explained).toMatchObject({ sentence: `${nobody} ${remedy}`, actions: [{ kind: 'start' }] })
  })

  test('is one whose start waits, or whose server does not end, in those words', () => {
    const sleep = { wakesOnAccess: true }
    const [waits] = sentences.StartWaits
    const [stuck] = sentences.TerminationStuck
    for (const each of [waits, stuck]) expect(why({ ...each, sleep }).sentence).toBe(why(each).sentence)
  })
})

describe('a world that the schedule starts', () => {
  const startsAt = at(nowMs + 9.5 * 3_600_000)
  const words = 'The schedule starts it in 9 hours, at 2026-11-21T17:31:30Z.'
  const startedBySchedule = ([facts]: readonly [Facts, string]) => why({ ...facts, startsAt }).sentence

  test.each([
    ['was stopped', sentences.Stopped, `Lobby is stopped. ${words}`],
    ['was never started', sentences.NeverStarted, `Lobby was never started. ${words}`],
    ['ended', sentences.Expired, `Lobby is stopped: the duration of the run is over. ${words}`],
  ] as const)('says when, if it %s', (_, state, sentence) => {
    expect(startedBySchedule(state)).toBe(sentence)
  })

  test('says it after what to do', () => {
    const sleep = { wakesOnAccess: false }
    expect(why({ ...sentences.Idle[0], sleep, startsAt }).sentence).toMatch(`Start it to wake it. ${words}`)
    expect(startedBySchedule(sentences.RestartBudget)).toMatch(
      `then start the world again. ${words} More than 1,000 other worlds`,
    )
  })

  test.each(['ServerReady', 'Starting', 'StartWaits', 'WaitingForApi', 'Deleting', 'TerminationStuck'] as const)(
    'does not say it with the reason %s',
    (reason) => {
      expect(startedBySchedule(sentences[reason])).toBe(sentences[reason][1])
    },
  )

  test('does not say it while its changes are paused', () => {
    const paused = { ...ready('Paused', 'Paused: remove the annotation.'), type: 'Progressing' }
    expect(why({ phase: 'Stopped', conditions: [paused], startsAt }).sentence).not.toContain('schedule')
  })
})

describe('a world that does not sleep because its players are unknown', () => {
  const message =
    'The world does not sleep, because its server does not say its players. Check the port of runtime.query.'
  const idle = { ...ready('UnknownCounts', message, 'Unknown'), type: 'Idle' }

  test('runs, with that note', () => {
    const runs = why(running(idle))
    expect(runs).toMatchObject({ state: 'Running', reason: '', actions: [] })
    expect(runs.remedy).toBeUndefined()
    expect(runs.sentence).toBe(
      'Lobby is running. It does not sleep, because its server does not say its players. Check the port of runtime.query.',
    )
  })

  test('has no note while it is in trouble', () => {
    const [{ conditions = [], ...facts }] = sentences.AddressMissing
    expect(why({ ...facts, conditions: [...conditions, idle] }).sentence).toBe(sentences.AddressMissing[1])
  })
})

describe('a server without enough memory', () => {
  const [facts] = sentences.OutOfMemory
  const stillTries = restarting('OutOfMemory', 'The server exceeded its memory limit.')
  const largerProfile = { name: 'Capacity100', memoryLimit: '6Gi', isChosen: false }

  test('gets the name of a larger profile', () => {
    const { sentence, remedy } = why({ ...facts, largerProfile })
    expect(remedy).toBe('Choose Capacity100 (6Gi) or a larger scaling profile.')
    expect(sentence).toContain('Choose Capacity100 (6Gi) or a larger scaling profile, then start it.')
    expect(why({ ...sentences.Unschedulable[0], largerProfile }).remedy).toMatch(/^Choose a smaller scaling profile/)
  })

  test.each<[Facts, string, string]>([
    [facts, 'Capacity100 (6Gi) is chosen: start the world.', 'start'],
    [stillTries, 'Capacity100 (6Gi) is chosen: restart the world.', 'restart'],
  ])('only needs a start after the choice', (each, remedy, kind) => {
    const explained = why({ ...each, largerProfile: { ...largerProfile, isChosen: true } })
    expect(explained).toMatchObject({ remedy, actions: [{ kind }, { kind: 'readLog' }] })
  })

  test('needs the platform operator if no larger profile is allowed', () => {
    expect(why({ ...facts, largerProfile: null })).toMatchObject({
      remedy: 'Ask the platform operator for a larger scaling profile.',
      actions: [{ kind: 'start' }, { kind: 'askOperator' }, { kind: 'readLog' }],
    })
  })
})

describe('numbers', () => {
  const crashed = (given: Partial<WhyRun>) =>
    why({ ...failed('OutOfMemory', 'The server exceeded its memory limit.'), run: { ...run, ...given } }).sentence

  test.each<[string, Partial<WhyRun>, string]>([
    [
      'a short run',
      { endedAt: at(sinceMs) },
      'failed 4 times in 6 minutes and is not restarted any more. The last time it',
    ],
    // All failures may be of the last minutes.
    ['a long run', { endedAt: at(sinceMs + 7_200_000) }, 'failed 4 times and is'],
    ['a run without an end', {}, 'failed 4 times and is'],
    ['an exit code', { exitCode: 137 }, 'The last time it exceeded its memory limit (exit code 137). Choose'],
  ])('of %s', (_, given, words) => {
    expect(crashed(given)).toContain(words)
  })

  test('of one failure', () => {
    const message = failureMessages.usedUp('The server failed with exit code 3.', 1)
    const facts: Facts = { phase: 'Error', conditions: [degraded('ServerFailed', message)] }
    expect(why(facts).sentence).toContain(
      'its server failed once and is not restarted any more. It failed with exit code 3. Check',
    )
  })

  test.each([
    [0, '1 second'],
    [59_999, '59 seconds'],
    [60_000, '1 minute'],
    [7_200_000, '2 hours'],
    [400 * 86_400_000, '400 days'],
  ])('%d ms are %s', (ms, words) => {
    expect(formatDuration(ms)).toBe(words)
  })

  test.each([
    [0, /\(for 1 minute\): its server image cannot be pulled\. Check [^.]*\.$/],
    [1, / 1 other world has this problem\.$/],
    [maxOthers, / 1,000 other worlds have this problem\.$/],
    [maxOthers + 1, / More than 1,000 other worlds have this problem\.$/],
  ])('of %d other worlds', (others, words) => {
    const [facts] = sentences.ImagePullFailed
    expect(why({ ...facts, others }).sentence).toMatch(words)
  })
})

describe('the cause', () => {
  const trouble = degraded('OutOfMemory', 'The server exceeded its memory limit.')
  const refused = synced('EditRefused', 'spec.x was put back.')
  const notReady = ready('Starting', 'Waiting for a node.')

  test('is what is wrong with the server, and else what it waits for', () => {
    expect(why({ conditions: [notReady, refused, trouble] }).reason).toBe('OutOfMemory')
    expect(why({ conditions: [notReady] })).toMatchObject({
      reason: 'Starting',
      state: 'Starting',
      since: lastTransitionAt,
    })
  })

  test.each<[WorldReason, Facts, string]>([
    [
      'Starting',
      { phase: 'Starting', conditions: [notReady, refused] },
      'Lobby is starting (for 1 minute): waiting for a node.',
    ],
    [
      'ServerDeleted',
      { phase: 'Active', conditions: [ready('ServerDeleted', 'The server was deleted.'), refused] },
      'Lobby is restarting (for 1 minute): its server was deleted.',
    ],
    [
      'Expired',
      { phase: 'Stopped', conditions: [ready('Expired', 'The duration of the run is over.'), refused] },
      'Lobby is stopped: the duration of the run is over.',
    ],
    [
      'OutOfMemory',
      { phase: 'Starting', conditions: [trouble, refused] },
      'Lobby is not ready (for 1 minute): its server exceeded its memory limit. Choose a larger scaling profile.',
    ],
  ])('is not an old refused edit but %s, and the edit is named after it', (reason, facts, words) => {
    expect(why(facts)).toMatchObject({
      reason,
      since: lastTransitionAt,
      sentence: `${words} Also, spec.x was put back.`,
    })
  })

  test.each<[string, Facts]>([
    ['is Ready', { phase: 'Active', conditions: [ready('ServerReady', '', 'True'), refused] }],
    ['is stopped', { phase: 'Stopped', conditions: [ready('Stopped', 'The world was stopped.'), refused] }],
    ['was never started', { phase: 'Inactive', conditions: [ready('NeverStarted', ''), refused] }],
    ['has no status', { phase: 'Inactive', conditions: [refused] }],
  ])('of a world that %s is a refused edit', (_, facts) => {
    expect(why(facts)).toMatchObject({ reason: 'EditRefused', state: 'NeedsAttention' })
  })

  test('of a requested start that does not reach the cluster is the refusal of the cluster', () => {
    const requested = ready('Starting', 'The run was requested.')
    const pushRefused = synced('PushRefused', 'A policy of the cluster refuses the resource.')
    expect(why({ phase: 'Starting', conditions: [requested, pushRefused] }).reason).toBe('PushRefused')
    expect(why({ phase: 'Starting', conditions: [notReady, pushRefused] }).reason).toBe('Starting')
  })

  test('of a start that waits is the wait, unless the world is Ready', () => {
    const waits = synced('StartWaits', 'The organization has no room.')
    expect(why({ phase: 'Stopped', conditions: [ready('Stopped', ''), waits] }).reason).toBe('StartWaits')
    const runs = why({ phase: 'Active', conditions: [ready('ServerReady', '', 'True'), waits] })
    expect(runs).toMatchObject({ reason: '', sentence: 'Lobby is running.' })
  })

  test('runs, whatever note the node writes about its server', () => {
    const note = 'The node is simulated, so no container runs.'
    const runs = why({ phase: 'Active', conditions: [ready('ServerReady', note, 'True')] })
    expect(runs).toMatchObject({ cause: note, sentence: 'Lobby is running.' })
  })

  test('of a paused world is the pause', () => {
    const paused = { ...ready('Paused', 'Paused: remove the annotation.'), type: 'Progressing' }
    expect(why({ conditions: [trouble, paused] })).toMatchObject({ reason: 'Paused', cause: paused.message })
  })

  test('of a world that nobody has observed is empty', () => {
    const explained = why({ phase: 'Inactive' })
    expect(explained).toEqual({
      state: 'Stopped',
      summary: 'Lobby was never started.',
      sentence: 'Lobby was never started.',
      cause: '',
      reason: '',
      others: 0,
      actions: [{ kind: 'start' }],
    })
  })

  test('of a reason that the code does not know is its message', () => {
    const explained = why({ phase: 'Starting', conditions: [degraded('Novel', 'Something is new.')] })
    expect(explained).toMatchObject({ reason: 'Novel', cause: 'Something is new.', actions: [] })
    expect(why({ conditions: [degraded('toString', 'Something is new.')] }).remedy).toBeUndefined()
  })
})

describe('a start that was not in time', () => {
  const late = (reason: WorldReason, failure: string): string =>
    why({ phase: 'Error', conditions: [degraded(reason, failureMessages.late(failure))] }).sentence

  test('has the reason in a sentence of its own', () => {
    expect(late('ServerFailed', 'The server failed with exit code 1.')).toBe(
      'Lobby is not running: its server was not ready in time. The reason: the server failed with exit code 1. Check the log of the server, then start it.',
    )
  })

  test('has no such sentence without a reason', () => {
    expect(late('StartDeadline', '')).toMatch(/^Lobby is not running: its server was not ready in time\. Check that/)
  })

  test.each<[WorldReason, string]>([
    ['ImagePullFailed', 'Check the image of the build, then start it, or ask the platform operator.'],
    [
      'NodePortsExhausted',
      'Stop another world, then start this one, or ask the platform operator for more node ports.',
    ],
    ['PodNameTaken', 'Ask the platform operator, then start it.'],
  ])('because of %s is followed by a start where the user can act', (reason, words) => {
    const advice = reason === 'ImagePullFailed' ? 'Check the image of the build, or ask the platform operator.' : ''
    expect(late(reason, `Something is wrong. ${advice}`.trim())).toMatch(
      new RegExp(` ${words.replaceAll('.', '\\.')}$`),
    )
  })
})

describe('a server that must answer', () => {
  const wait = 'Waiting for the server to answer A2S at UDP port 27015.'
  const silent = { ...ready('NoAnswer', 'The server has not answered the query A2S.'), type: 'Responding' }

  test('and has not yet is what its start waits for', () => {
    expect(why({ phase: 'Starting', conditions: [ready('Starting', wait), silent] })).toMatchObject({
      state: 'Starting',
      reason: 'Starting',
      cause: wait,
      sentence: 'Lobby is starting (for 1 minute): waiting for its server to answer A2S at UDP port 27015.',
    })
  })

  test('and never did is the reason why its run ended, with the remedy', () => {
    const message = failureMessages.late(`${wait} ${checkQuery}`)
    expect(why({ phase: 'Error', conditions: [degraded('StartDeadline', message)] })).toMatchObject({
      state: 'Failed',
      remedy: 'Check runtime.query: its protocol and port must be those of the server.',
      sentence:
        'Lobby is not running: its server was not ready in time. The reason: waiting for the server to answer A2S at UDP port 27015. Check runtime.query: its protocol and port must be those of the server, then start it.',
    })
  })

  test('and no longer answers needs no attention', () => {
    expect(why(running(silent))).toMatchObject({ state: 'Running', reason: '', sentence: 'Lobby is running.' })
  })
})

describe('a stop', () => {
  const progressing = { ...ready('Stopped', '', 'True'), type: 'Progressing' }
  test.each([
    ['The world was stopped.', 'Lobby is stopping.'],
    ['Waiting for the server to stop.', 'Lobby is stopping: waiting for its server to stop.'],
  ])('that is under way is not over: %s', (message, sentence) => {
    expect(why({ phase: 'Stopped', conditions: [progressing, ready('Stopped', message)] })).toMatchObject({
      state: 'Stopped',
      sentence,
    })
  })
})

describe('actions', () => {
  const kinds = (facts: Facts) => why(facts).actions.map((each) => ('field' in each ? each.field : each.kind))

  test('start a failed world after an edit, and restart one that still tries', () => {
    expect(kinds(sentences.OutOfMemory[0])).toEqual(['networking.scaling.profile', 'start', 'readLog'])
    expect(kinds(restarting('OutOfMemory', 'The server exceeded its memory limit.'))).toEqual([
      'networking.scaling.profile',
      'restart',
      'readLog',
    ])
  })

  test.each(['StartDeadline', 'RestartBudget'] as const)('start a world that stopped after %s', (reason) => {
    expect(kinds(ended(reason, ''))).toEqual(['start', 'readLog'])
    expect(kinds({ phase: 'Error', conditions: [degraded(reason, '')] })).toEqual(['start', 'readLog'])
  })

  test('start a failed world, and do not restart it', () => {
    expect(kinds({ phase: 'Error', conditions: [degraded('ServerNotReady', '')] })).toEqual(['start', 'readLog'])
  })

  test('of a failed world are no wait', () => {
    for (const reason of ['LoadBalancerPending', 'NodeLost'] as const) {
      const message = failureMessages.late('Waiting for the load balancer to get an address.')
      const facts: Facts = { phase: 'Error', conditions: [degraded(reason, message)] }
      expect(kinds(facts)).toEqual(['start', 'askOperator'])
      expect(why(facts).sentence).toMatch(/ Start the world again, or ask the platform operator\.$/)
    }
  })

  test('of a failed world that is paused are none', () => {
    const paused = { ...ready('Paused', 'Paused: remove the annotation.'), type: 'Progressing' }
    expect(why({ phase: 'Error', conditions: [paused] })).toMatchObject({
      sentence: 'Lobby is not running, and its changes are paused: remove the annotation.',
      actions: [],
    })
  })

  test('start a stopped world, wait for one that starts, and leave a running one alone', () => {
    expect(kinds(sentences.Stopped[0])).toEqual(['start'])
    expect(kinds(sentences.Starting[0])).toEqual(['wait'])
    expect(kinds(sentences.ServerReady[0])).toEqual([])
  })
})
