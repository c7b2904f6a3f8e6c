import { describe, expect, test } from 'vitest'
import { refusedStatus } from '#operator/lifecycle/conditions.ts'
import { explainRefusal, isRefusal } from '#operator/lifecycle/refusal.ts'
import type { Pod } from '#operator/pods/pod.ts'
import { at, disruptionTarget, exitStatus, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  allotPorts,
  aNode,
  aPod,
  applyStatus,
  captured,
  conditionOf,
  evicted,
  notReady,
  outOfMemory,
  planFor,
  ready,
  running,
  settings,
  settle,
  stopped,
  verbs,
  waitingFor,
} from '#operator/testing/world.ts'
import { KubeError } from '#shared/kube/errors.ts'
import { withDefined } from '#shared/optional.ts'
import { createHostPortUse } from './hostPorts.ts'
import { plan } from './plan.ts'

const unscheduled = (reason: string, message: string): Pod['status'] => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason, message }],
})
const disrupted = (reason: string, message = ''): Pod['status'] => ({
  phase: 'Failed',
  conditions: [disruptionTarget(reason, message)],
})
const backOff = 'Back-off pulling image "x": ErrImagePull: not found'

describe('a server that does not become ready has a reason of its own', () => {
  test.each<[string, Pod['status'], string, string]>([
    ['a missing image', waitingFor('ErrImagePull', 'not found'), 'ImagePullFailed', 'not found'],
    ['an image in back-off', waitingFor('ImagePullBackOff', backOff), 'ImagePullFailed', backOff],
    ['an invalid image name', waitingFor('InvalidImageName'), 'ImagePullFailed', 'InvalidImageName'],
    ['no room on any node', unscheduled('Unschedulable', '0/1 nodes fit'), 'Unschedulable', '0/1 nodes fit'],
    ['a scheduling gate', unscheduled('SchedulingGated', 'held by a gate'), 'SchedulingGated', 'held by a gate'],
    ['a missing secret', waitingFor('CreateContainerConfigError', 'no secret'), 'ContainerCannotStart', 'no secret'],
    ['a kubelet that restarts it', waitingFor('CrashLoopBackOff', 'back-off 10s'), 'CrashLoop', 'back-off 10s'],
  ])('for %s, with the message of the cluster only in the detail', (_, status, reason, words) => {
    const planned = planFor(captured(), aPod({ status }))
    expect(planned.steps).toEqual([])
    expect(planned.detail).toContain(words)
    expect(planned.status.message).toMatch(/^[A-Z].*\.$/)
    expect(JSON.stringify(planned.status)).not.toContain(words)
    expect(conditionOf(planned.status, 'Ready')).toBe(`False/${reason}`)
    expect(conditionOf(planned.status, 'Degraded')).toBe(`True/${reason}`)
    expect(conditionOf(planned.status, 'Progressing')).toBe(`True/${reason}`)
  })

  test('and alternating pull errors leave the status unchanged', () => {
    const first = planFor(captured(), aPod({ status: waitingFor('ErrImagePull', 'not found') }))
    const next = planFor(
      applyStatus(captured(), first),
      aPod({ status: waitingFor('ImagePullBackOff', backOff) }),
      startMs + 9_000,
    )
    expect(next.status).toEqual(first.status)
  })

  test('that ends the run after the start deadline', () => {
    const pod = aPod({ status: waitingFor('ErrImagePull', 'not found') })
    const { world } = settle(captured(), pod, startMs + settings.startDeadlineMs)
    expect(world.status).toMatchObject({
      phase: 'Error',
      run: { endReason: 'StartDeadline' },
      deployment: { status: 'Error' },
    })
    expect(world.status?.message).toBe(
      'The server was not ready in time: the server image cannot be pulled. ' +
        'Check the image of the build, or ask the platform operator.',
    )
    expect(conditionOf(world.status ?? {}, 'Degraded')).toBe('True/ImagePullFailed')
  })
})

test('a start that is late after a failure names the failure, and no restart', () => {
  const failed = settle(captured(), aPod({ status: exitStatus(3) }), startMs)
  expect(failed.world.status?.message).toBe('Restart 1 of 3: the server failed with exit code 3.')
  const { world } = settle(failed.world, undefined, startMs + settings.startDeadlineMs)
  expect(world.status?.message).toBe('The server was not ready in time: the server failed with exit code 3.')
})

describe('a server that is lost', () => {
  test.each<[string, Pod['status'], string, number, string]>([
    [
      'to its memory limit',
      outOfMemory,
      'OutOfMemory',
      1,
      'Restart 1 of 3: the server exceeded its memory limit. Choose a larger scaling profile.',
    ],
    [
      'to a non-zero exit code',
      exitStatus(3),
      'ServerFailed',
      1,
      'Restart 1 of 3: the server failed with exit code 3.',
    ],
    ['by eviction', evicted, 'Evicted', 0, 'Replacing the server: the cluster evicted the server.'],
    [
      'by preemption',
      disrupted('PreemptionByScheduler'),
      'Evicted',
      0,
      'Replacing the server: the cluster evicted the server.',
    ],
    [
      'with its node',
      disrupted('DeletionByPodGC', 'node is gone'),
      'NodeLost',
      0,
      'Replacing the server: the node of the server was lost.',
    ],
    [
      'by a shutdown of its node',
      { phase: 'Failed', reason: 'NodeShutdown' },
      'Evicted',
      0,
      'Replacing the server: the node of the server was shut down.',
    ],
    [
      'to a node that rejects it',
      { phase: 'Failed', reason: 'OutOfmemory' },
      'NodeRefused',
      0,
      'Replacing the server: the node did not admit the server.',
    ],
  ])('%s is counted once and replaced after a wait', (_, status, reason, restarts, sentence) => {
    const pod = aPod({ status })
    const counted = planFor(active(), pod, startMs + 5_000)
    expect(counted).toMatchObject({ steps: [], requeueAfterMs: 0, status: { phase: 'Active', run: { restarts } } })
    expect(counted.status.message).toContain(sentence)
    expect(conditionOf(counted.status, 'Degraded')).toBe(`True/${reason}`)
    expect(counted.status.deployment?.status).toBe('Restarting')
    const gone = settle(active(), pod, startMs + 5_000)
    expect(gone.pod).toBeUndefined()
    expect(gone.world.status).toEqual(counted.status)
    expect(verbs(planFor(gone.world, undefined, startMs + 5_999))).toEqual([])
    expect(verbs(planFor(gone.world, undefined, startMs + 6_000))).toEqual(['createPod'])
    const back = planFor(gone.world, aPod({ uid: 'next', status: ready(startMs + 7_000) }), startMs + 7_000)
    expect(back.status).toMatchObject({ phase: 'Active', deployment: { status: 'Running', externalId: 'next' } })
    expect(back.status.message).toBeUndefined()
    expect(conditionOf(back.status, 'Degraded')).toBe('False/AsExpected')
  })

  test('within moments has its pod named by the deployment', () => {
    const counted = planFor(captured(), aPod({ uid: 'short-lived', status: exitStatus(3) }))
    expect(counted.status.deployment?.externalId).toBe('short-lived')
    const next = applyStatus(captured(), counted)
    expect(planFor(next, undefined, startMs + 60_000).status.deployment?.externalId).toBe('short-lived')
    const successor = aPod({ uid: 'its successor', status: ready() })
    expect(planFor(next, successor, startMs + 60_000).status.deployment?.externalId).toBe('its successor')
  })

  test('twice in a row is in a crash loop, up to the end of the budget', () => {
    let now = { world: active(), pod: aPod() as Pod | undefined }
    const reasons: string[] = []
    for (let failure = 0; failure <= settings.restartBudget; failure += 1) {
      now = settle(now.world, aPod({ uid: `pod-${failure}`, status: exitStatus(3) }), startMs + failure * 61_000)
      reasons.push(conditionOf(now.world.status ?? {}, 'Degraded'))
    }
    expect(reasons).toEqual(['True/ServerFailed', 'True/CrashLoop', 'True/CrashLoop', 'True/CrashLoop'])
    expect(now.world.status).toMatchObject({ phase: 'Error', run: { endReason: 'RestartBudget' } })
    expect(now.world.status?.message).toBe('Failed 4 times; last error: the server failed with exit code 3.')
  })

  test('by evictions never ends its run, and waits grow up to the maximum', () => {
    let now = { world: active(), pod: aPod() as Pod | undefined }
    let waitMs = 0
    for (let time = 0; time < 12; time += 1) {
      now = settle(now.world, aPod({ uid: `pod-${time}`, status: evicted }), startMs + time * 1_000)
      waitMs = planFor(now.world, undefined, startMs + time * 1_000).requeueAfterMs ?? 0
    }
    expect(now.world.status).toMatchObject({ phase: 'Active', run: { restarts: 0, disruptions: 12 } })
    expect(waitMs).toBe(settings.restartBackoffMaxMs)
  })

  test('before it was ready again keeps its earlier failures', () => {
    const first = settle(active(), aPod({ uid: 'one', status: exitStatus(1) }), startMs + 60_000)
    const later = startMs + 60_000 + 2 * settings.restartRefillMs
    const second = planFor(first.world, aPod({ uid: 'two', status: exitStatus(1) }), later)
    expect(second.status.run?.restarts).toBe(2)
  })

  test('and not ready in time after its restart counts as lost again', () => {
    const lost = settle(active(), aPod({ uid: 'one', status: exitStatus(1) }), startMs + 2_000)
    const madeMs = startMs + 4_000
    const next = aPod({ uid: 'two', metadata: { creationTimestamp: at(madeMs) }, status: { phase: 'Running' } })
    expect(planFor(lost.world, next, madeMs + settings.startDeadlineMs - 1).status.run?.restarts).toBe(1)
    const late = planFor(lost.world, next, madeMs + settings.startDeadlineMs)
    expect(late.status.run).toMatchObject({ restarts: 2, failure: { reason: 'NotReadyInTime' } })
  })
})

test('distinguishes a restarted server from one that was Ready within the same second', () => {
  const next = aPod({ uid: 'next', metadata: { creationTimestamp: at(startMs) }, status: { phase: 'Running' } })
  const { status } = planFor(active(), next, startMs + 5_000)
  expect(status.deployment?.status).toBe('Restarting')
  expect(status.message).toBe('Waiting for the server to become ready.')
})

test('a server that is no longer ready keeps its run and address and is Degraded', () => {
  const unready = aPod({
    metadata: { creationTimestamp: at(startMs) },
    status: { phase: 'Running', podIP: '10.0.0.7' },
  })
  const { steps, status } = planFor(active(), unready, startMs + 60_000)
  expect(steps).toEqual([])
  expect(status).toMatchObject({ phase: 'Active', address: { host: '10.0.0.7' }, deployment: { status: 'Running' } })
  expect(conditionOf(status, 'Degraded')).toBe('True/ServerNotReady')
})

describe('a write that the API server refuses', () => {
  const refused = (status: number, message: string) =>
    new KubeError({ status, reason: 'Forbidden', message: `POST /api/v1/namespaces/n/pods: ${message}` })
  test.each([
    [403, 'pods "w" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1', 'QuotaExceeded'],
    [403, 'pods "w" is forbidden: failed quota: small: must specify limits.cpu', 'QuotaExceeded'],
    [403, 'pods "w" is forbidden: status unknown for quota: small', 'QuotaExceeded'],
    [
      403,
      'pods "w" is forbidden: unable to create new content in namespace n because it is being terminated',
      'NamespaceTerminating',
    ],
    [403, 'pods is forbidden: User "orrery-operator" cannot create resource "pods" in API group ""', 'NotPermitted'],
    [
      422,
      "pods \"w\" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: no",
      'AdmissionRefused',
    ],
    [403, 'pods "w" is forbidden: violates PodSecurity "restricted:latest": host ports', 'AdmissionRefused'],
    [400, 'admission webhook "x.example" denied the request: no', 'AdmissionRefused'],
    [500, 'Internal error occurred: failed calling webhook "x.example": refused', 'AdmissionRefused'],
    [500, 'Internal error occurred: failed to allocate a nodePort: range is full', 'NodePortsExhausted'],
    [500, 'failed to allocate a HealthCheck NodePort 0: range is full', 'NodePortsExhausted'],
    [
      500,
      'Internal error occurred: failed to allocate a serviceIP for Service "w": range is full',
      'ClusterIPsExhausted',
    ],
    [422, 'Pod "w" is invalid: spec.containers[0].image: Required value', 'Refused'],
  ])('%i %s', (status, message, reason) => {
    const error = refused(status, message)
    expect(isRefusal(error)).toBe(true)
    const why = explainRefusal(error, 'server')
    expect(why.reason).toBe(reason)
    expect(why.detail).toBe(message)
    expect(why.message).not.toContain(message)
  })

  test.each([404, 409, 429, 500, 503, 0])('%i is no refusal', (status) => {
    expect(isRefusal(refused(status, 'later'))).toBe(false)
  })

  test('is in the status, and the same refusal again leaves it unchanged', () => {
    const why = explainRefusal(refused(403, 'exceeded quota: small'), 'server')
    const world = captured()
    const first = refusedStatus(world.status, planFor(world).status, why, startMs)
    expect(conditionOf(first, 'Degraded')).toBe('True/QuotaExceeded')
    expect(conditionOf(first, 'Ready')).toBe('False/QuotaExceeded')
    expect(first.message).toContain('The quota of the namespace has no room for the server.')
    const again = { ...world, status: first }
    expect(refusedStatus(again.status, planFor(again).status, why, startMs + 9_000)).toEqual(first)
    const late = planFor(again, undefined, startMs + settings.startDeadlineMs)
    expect(late.status.message).toContain('not ready in time: the quota of the namespace')
    expect(conditionOf(late.status, 'Degraded')).toBe('True/QuotaExceeded')
  })
})

describe('a node that does not report', () => {
  const pod = aPod({ status: ready() })
  const going = aPod({ status: ready(), metadata: { deletionTimestamp: at(startMs) } })
  const unseen = { node: aNode('Unknown') }
  const later = startMs + 86_400_000

  test('leaves the world Active, its deployment Unknown and its server alone', () => {
    for (const server of [pod, going]) {
      const planned = planFor(active(), server, later, runB, unseen)
      expect(verbs(planned)).toEqual([])
      expect(planned.status).toMatchObject({ phase: 'Active', deployment: { status: 'Unknown' } })
      expect(planned.status.message).toContain('Node node-1 has not reported since')
      expect(conditionOf(planned.status, 'Degraded')).toBe('True/NodeUnreachable')
    }
    expect(conditionOf(planFor(active(), pod, later, runB, unseen).status, 'Ready')).toBe('Unknown/NodeUnreachable')
  })

  test('that returns has its server Running without a restart', () => {
    const away = applyStatus(active(), planFor(active(), pod, later, runB, unseen))
    const back = planFor(away, pod, later, runB, { node: aNode() })
    expect(back.status).toMatchObject({ phase: 'Active', deployment: { status: 'Running' }, run: { restarts: 0 } })
    expect(conditionOf(back.status, 'Ready')).toBe('True/ServerReady')
  })

  test.each([
    ['is gone', 'gone' as const],
    [
      'is marked as out of service',
      aNode('Unknown', { spec: { taints: [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] } }),
    ],
  ])('and then %s has its server replaced without spending the restart budget', (_, node) => {
    const recorded = planFor(active(), pod, startMs, runB, { node })
    expect(recorded).toMatchObject({ steps: [], status: { run: { restarts: 0, failure: { reason: 'NodeLost' } } } })
    expect(verbs(planFor(applyStatus(active(), recorded), pod, startMs, runB, { node }))).toEqual(['forceDeletePod'])
    expect(verbs(planFor(active(), going, startMs, runB, { node }))).toEqual(['forceDeletePod'])
    expect(verbs(planFor(applyStatus(active(), recorded), undefined, startMs + 1_000))).toEqual(['createPod'])
  })

  test('counts as dead only after ORRERY_NODE_LOST_FORCE_MS', () => {
    const forced = { settings: { ...settings, nodeLostForceMs: 60_000 }, ...unseen }
    const before = planFor(active(), going, startMs + 59_999, runB, forced)
    expect(before).toMatchObject({ steps: [], requeueAfterMs: 1 })
    expect(verbs(planFor(active(), going, startMs + 60_000, runB, forced))).toEqual(['forceDeletePod'])
  })

  test('blocks the end of stopped, older and deleted servers, which the status shows', () => {
    const base = active()
    for (const world of [
      { ...base, spec: { ...base.spec, ...stopped } },
      { ...base, spec: { ...base.spec, runId: runB, startedAt: at(startMs) } },
      { ...base, metadata: { ...base.metadata, deletionTimestamp: at(startMs) } },
    ]) {
      const planned = planFor(world, going, later, runB, unseen)
      expect(verbs(planned)).toEqual([])
      expect(planned.status.deployment?.status).toBe('Unknown')
      expect(planned.status.message).toContain('node-1')
      expect(verbs(planFor(world, going, later, runB, { node: 'gone' }))).toEqual(['forceDeletePod'])
    }
  })

  test('that reports itself as not ready keeps its servers', () => {
    const planned = planFor(active(), pod, startMs + 5_000, runB, { node: aNode('False') })
    expect(planned.status).toMatchObject({ phase: 'Active', deployment: { status: 'Running' } })
  })
})

describe('a server that should have stopped', () => {
  const graceEndsMs = startMs + 60_000
  const held = (finalizers?: string[]) =>
    aPod({ metadata: withDefined({ deletionTimestamp: at(graceEndsMs), finalizers }) })
  const world = { ...active(), spec: { ...active().spec, ...stopped } }

  test('is reported 10 s after its grace period, with the finalizer that holds it', () => {
    const early = planFor(world, held(['example.com/backup']), graceEndsMs)
    expect(early).toMatchObject({ steps: [], requeueAfterMs: 10_000 })
    expect(early.status.message).toBe('Waiting for the server to stop.')
    const late = planFor(world, held(['example.com/backup']), graceEndsMs + 10_000)
    expect(late.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopping' } })
    expect(late.status.message).toContain('finalizer example.com/backup blocks the deletion of its pod')
    expect(conditionOf(late.status, 'Degraded')).toBe('True/TerminationStuck')
  })

  test('without a finalizer is reported with its node', () => {
    const late = planFor(world, held(), graceEndsMs + 10_000)
    expect(late.status.message).toContain('node node-1 has not confirmed its end')
  })

  test('is reported in a running world too', () => {
    const late = planFor(active(), held(['example.com/backup']), graceEndsMs + 10_000)
    expect(conditionOf(late.status, 'Ready')).toBe('False/TerminationStuck')
  })
})

test('a deleted world names the foreign finalizer that holds it', () => {
  const metadata = { deletionTimestamp: at(startMs), finalizers: ['orrery.dev/api', 'example.com/audit'] }
  const world = { ...active(), metadata: { ...active().metadata, ...metadata } }
  expect(planFor(world).status.message).toContain('The owner of finalizer example.com/audit must remove it.')
})

describe('a paused world', () => {
  const annotations = { 'orrery.dev/paused': 'true' }
  const paused = (world = active()) => ({ ...world, metadata: { ...world.metadata, annotations, generation: 7 } })

  test.each([
    ['is to stop', { ...active(), spec: { ...active().spec, ...stopped } }, aPod({ status: ready() })],
    ['failed', active(), aPod({ status: exitStatus(1) })],
    ['is over', active({ ...running, durationMinutes: 1, transient: true }), aPod({ status: ready() })],
    ['has no server', captured(), undefined],
    ['is being deleted', { ...active(), metadata: { ...active().metadata, deletionTimestamp: at(startMs) } }, aPod()],
  ])('that %s is left alone and says so', (_, world, pod) => {
    const planned = planFor(paused(world), pod, startMs + 86_400_000)
    expect(planned.steps).toEqual([])
    expect(planned.status.message).toBe('Paused: remove the annotation orrery.dev/paused to continue.')
    expect(conditionOf(planned.status, 'Progressing')).toBe('False/Paused')
    expect(planned.status).toMatchObject({ phase: world.status?.phase, observedGeneration: 1 })
    expect(planFor(applyStatus(paused(world), planned), pod, startMs + 90_000_000).status).toEqual(planned.status)
  })

  test('continues when the annotation is removed', () => {
    const stopping = paused({ ...active(), spec: { ...active().spec, ...stopped } })
    const rested = applyStatus(stopping, planFor(stopping, aPod()))
    const resumed = { ...rested, metadata: { ...rested.metadata, annotations: {} } }
    expect(verbs(planFor(resumed, aPod()))).toEqual(['deletePod'])
  })
})

test('the same input gives the same plan', () => {
  const input = {
    world: active(),
    pod: aPod({ status: outOfMemory }),
    node: aNode(),
    service: undefined,
    route: 'unserved' as const,
    serviceUnusedMs: 0,
    queried: undefined,
    answerAgeMs: 0,
    hasBots: false,
    policy: {},
    settings,
    nowMs: startMs,
    newRunId: () => runB,
    allotPorts,
    hostPorts: createHostPortUse(settings.hostPorts).of('default/world'),
  }
  const before = structuredClone({ world: input.world, pod: input.pod })
  expect(plan(input)).toEqual(plan(input))
  expect({ world: input.world, pod: input.pod }).toEqual(before)
})

describe('a server beside the sidecar of a mesh', () => {
  const proxy = { name: 'istio-proxy', state: { running: { startedAt: at(startMs) } } }
  const exitedWith = (
    exitCode: number,
    phase: 'Running' | 'Failed' = 'Running',
    own: object = proxy,
  ): Pod['status'] => ({
    phase,
    containerStatuses: [own, { name: 'server', state: { terminated: { exitCode, reason: 'Ended' } } }],
  })

  test('that exits with code 0 ends the run, although its pod is still Running', () => {
    expect(planFor(active(), aPod({ status: exitedWith(0) })).status.run?.endReason).toBe('Completed')
  })

  test('that fails is restarted, although its pod is still Running', () => {
    const { status } = planFor(active(), aPod({ status: exitedWith(3) }))
    expect(status).toMatchObject({ phase: 'Active', run: { restarts: 1 }, deployment: { status: 'Restarting' } })
    expect(status.message).toBe('Restart 1 of 3: the server failed with exit code 3.')
  })

  test('that exits with code 0 ends the run, although the sidecar failed afterwards', () => {
    const failed = { name: 'istio-proxy', state: { terminated: { exitCode: 1, reason: 'Error' } } }
    expect(planFor(active(), aPod({ status: exitedWith(0, 'Failed', failed) })).status.run?.endReason).toBe('Completed')
  })

  test('that exits with code 0 on its eviction is replaced', () => {
    const status = { ...exitedWith(0, 'Failed'), reason: 'Evicted' } as Pod['status']
    expect(planFor(active(), aPod({ status })).status.run).toMatchObject({ restarts: 0, disruptions: 1 })
  })
})

describe('a server that is no longer Ready', () => {
  const lostMs = startMs + 60_000
  const notReadyFor = (ms: number) => planFor(active(), aPod({ status: notReady(lostMs) }), lostMs + ms)

  test('keeps its world Active until notReadyDeadlineMs', () => {
    const planned = notReadyFor(settings.notReadyDeadlineMs - 1)
    expect(planned).toMatchObject({ steps: [], requeueAfterMs: 1, status: { phase: 'Active', run: { restarts: 0 } } })
    expect(conditionOf(planned.status, 'Ready')).toBe('False/ServerNotReady')
  })

  test('counts as failed at notReadyDeadlineMs, and its pod is replaced', () => {
    const planned = notReadyFor(settings.notReadyDeadlineMs)
    expect(planned.status).toMatchObject({ phase: 'Active', run: { restarts: 1, countedPodUid: 'pod-uid' } })
    expect(planned.status.message).toBe('Restart 1 of 3: the server was not ready for 300 seconds. Check its log.')
    const next = planFor(
      applyStatus(active(), planned),
      aPod({ status: notReady(lostMs) }),
      lostMs + settings.notReadyDeadlineMs,
    )
    expect(verbs(next)).toEqual(['deletePod'])
  })
})
