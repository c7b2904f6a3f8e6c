import { describe, expect, test } from 'vitest'
import type { Pod } from '#operator/pods/pod.ts'
import { at, exitStatus, runA, runB, startMs } from '#operator/testing/common.ts'
import {
  active,
  aPod,
  applyStatus,
  aWorld,
  captured,
  conditionOf,
  notReady,
  planFor,
  podOf,
  ready,
  running,
  settings,
  settle,
  stopped,
  verbs,
  waitingFor,
} from '#operator/testing/world.ts'
import { deploymentIdOfRun } from '#shared/ids.ts'
import { withDefined } from '#shared/optional.ts'
import type { World, WorldQueue, WorldSpecInput } from '#shared/resources/world.ts'

describe('a start', () => {
  const begun = {
    phase: 'Starting',
    runId: runA,
    observedRevision: 2,
    run: { id: runA, image: settings.defaultServerImage, profile: 'Capacity30', capacity: 30, restarts: 0 },
    deployment: { id: deploymentIdOfRun(runA), externalId: 'pod-uid' },
  }

  test('with an id in the spec creates the pod at once and writes the status when the pod is seen', () => {
    const first = planFor(aWorld(running))
    expect(first.steps).toMatchObject([{ verb: 'createPod', run: { id: runA } }])
    expect(first.deferStatus).toBe(true)
    const second = planFor(aWorld(running), podOf(first))
    expect(verbs(second)).toEqual([])
    expect(second.deferStatus).toBeUndefined()
    expect(second.status).toMatchObject(begun)
  })

  test('writes no status while its pod is younger than 2 s, and then one that shows the wait', () => {
    const made = podOf(planFor(aWorld(running)))
    const young = { ...made, metadata: { ...made.metadata, creationTimestamp: at(startMs) } }
    expect(planFor(aWorld(running), young, startMs + 500)).toMatchObject({
      steps: [],
      deferStatus: true,
      requeueAfterMs: 1_500,
    })
    const late = planFor(aWorld(running), young, startMs + 2_000)
    expect(late.deferStatus).toBeUndefined()
    expect(late.status).toMatchObject({
      ...begun,
      nodeName: 'node-1',
      message: 'Waiting for the server to start.',
      deployment: { status: 'Starting' },
    })
  })

  test('whose server is ready before the first status is written as Active', () => {
    const pod = podOf(planFor(aWorld(running)))
    expect(planFor(aWorld(running), { ...pod, status: ready() }).status).toMatchObject({
      phase: 'Active',
      run: { id: runA },
      deployment: { status: 'Running' },
    })
  })

  test('replaces a pod of an outdated spec before the first status', () => {
    const pod = podOf(planFor(aWorld(running)))
    const edited = aWorld({ ...running, scaling: { profile: 'Capacity1000' } })
    expect(verbs(planFor(edited, pod))).toEqual(['deletePod'])
    expect(planFor(edited).steps).toMatchObject([{ verb: 'createPod', run: { profile: 'Capacity1000' } }])
    const renamed = aWorld({ ...running, displayName: 'Hall' })
    expect(verbs(planFor(renamed, pod))).toEqual([])
  })

  test('after an unrecorded run records that run before its pod is deleted', () => {
    const pod = podOf(planFor(aWorld(running)))
    const again = aWorld({ ...running, runId: runB })
    const recorded = planFor(again, pod)
    expect(recorded).toMatchObject({ steps: [], requeueAfterMs: 0 })
    expect(recorded.status).toMatchObject({
      phase: 'Starting',
      runId: runB,
      run: { id: runA },
      deployment: { id: deploymentIdOfRun(runA), status: 'Stopping' },
    })
    const world = applyStatus(again, recorded)
    const deletion = planFor(world, pod)
    expect(verbs(deletion)).toEqual(['deletePod'])
    expect(deletion.status).toEqual(recorded.status)
    expect(planFor(world, undefined).status).toMatchObject({
      run: { id: runB },
      previousDeployment: { id: deploymentIdOfRun(runA), status: 'Stopped' },
    })
  })

  test('after an unrecorded run keeps the recorded run before that as the previous deployment', () => {
    const pod = podOf(planFor(aWorld({ ...running, runId: runB })), 'pod-of-b')
    const again = { ...active(), spec: { ...active().spec, runId: 'run-0000000000000000000000000c' } }
    const recorded = planFor(again, pod)
    expect(verbs(recorded)).toEqual([])
    expect(recorded.status).toMatchObject({
      deployment: { id: deploymentIdOfRun(runB) },
      previousDeployment: { id: deploymentIdOfRun(runA) },
    })
  })

  test('without an id in the spec records one before the first pod is created', () => {
    const { runId: _, ...anonymous } = running
    const planned = planFor(aWorld(anonymous))
    expect(verbs(planned)).toEqual([])
    expect(planned.requeueAfterMs).toBe(0)
    expect(planned.status).toMatchObject({ phase: 'Starting', runId: runB, run: { id: runB } })
  })

  test('creates the pod of the captured run despite later edits', () => {
    const world = aWorld({ ...running, scaling: { profile: 'Capacity1000' } }, captured().status)
    const [step] = planFor(world).steps
    expect(step).toMatchObject({ verb: 'createPod', run: { id: runA, profile: 'Capacity30' } })
  })

  test('is Active with an address once the server is ready', () => {
    const planned = planFor(captured(), aPod({ status: ready() }))
    expect(planned.status).toMatchObject({
      phase: 'Active',
      address: { host: '10.0.0.7', port: 7777 },
      nodeName: 'node-1',
      deployment: { status: 'Running', externalId: 'pod-uid' },
    })
    expect(planned.status.conditions?.find(({ type }) => type === 'Ready')?.status).toBe('True')
  })

  test('writes nothing more during the first states of its pod, and its wait after 2 s', () => {
    const scheduled = aPod({ metadata: { creationTimestamp: at(startMs) } })
    const early = planFor(captured(), scheduled, startMs + 1_000)
    expect(early.status).toEqual(captured().status)
    expect(early.requeueAfterMs).toBe(1_000)
    const late = planFor(captured(), scheduled, startMs + 2_000)
    expect(late.status).toMatchObject({
      message: 'Waiting for the server to start.',
      deployment: { status: 'Starting' },
    })
  })

  test('writes no further ordinary wait until its pod is 10 s old', () => {
    const metadata = { creationTimestamp: at(startMs) }
    const unscheduled: Pod = { ...aPod({ metadata }), spec: {} }
    const seen = (pod: Pod, afterMs: number, world = captured()) => planFor(world, pod, startMs + afterMs)
    const waiting = applyStatus(captured(), seen(unscheduled, 2_000))
    expect(waiting.status).toMatchObject({ message: 'Waiting for a node.', deployment: { status: 'Pending' } })
    const scheduled = aPod({ metadata })
    expect(seen(scheduled, 4_000, waiting)).toMatchObject({ status: waiting.status, requeueAfterMs: 6_000 })
    expect(seen(scheduled, 10_000, waiting).status).toMatchObject({
      nodeName: 'node-1',
      message: 'Waiting for the server to start.',
    })
    expect(seen(aPod({ metadata, status: ready() }), 4_000, waiting).status.phase).toBe('Active')
    const failing = aPod({ metadata, status: waitingFor('ErrImagePull') })
    expect(seen(failing, 4_000, waiting).status.message).toContain('The server image cannot be pulled.')
    const degraded = applyStatus(captured(), seen(failing, 3_000))
    expect(seen(scheduled, 4_000, degraded).status.message).toBe('Waiting for the server to start.')
    const next = aPod({ metadata, uid: 'next-uid' })
    expect(seen(next, 4_000, waiting).status.deployment?.externalId).toBe('next-uid')
    const edited = { ...waiting, metadata: { ...waiting.metadata, generation: 2 } }
    expect(seen(scheduled, 4_000, edited).status).toMatchObject({ observedGeneration: 2, nodeName: 'node-1' })
  })

  test('reports at once what waiting does not resolve', () => {
    const pending = aPod({
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', message: '0/1 nodes fit' }] },
    })
    expect(planFor(captured(), pending).status.message).toContain('No node has room for the server.')
    const made = podOf(planFor(aWorld(running)))
    const young = { ...pending, metadata: { ...made.metadata, creationTimestamp: at(startMs) } }
    expect(planFor(aWorld(running), young)).not.toHaveProperty('deferStatus')
  })

  test('that is not ready in time ends in Error, and its pod is deleted', () => {
    const late = startMs + settings.startDeadlineMs
    const { world, pod } = settle(captured(), aPod(), late)
    expect(pod).toBeUndefined()
    expect(world.status).toMatchObject({ phase: 'Error', deployment: { status: 'Error' } })
    expect(world.status?.message).toContain('not ready in time')
  })

  test('whose server is ready is Active, even after the deadline', () => {
    const late = startMs + settings.startDeadlineMs + 60_000
    const planned = planFor(captured(), aPod({ status: ready() }), late)
    expect(planned).toMatchObject({ steps: [], status: { phase: 'Active' } })
  })

  test('waits for the server of an older run before it names its own deployment', () => {
    const again = { ...active(), spec: { ...active().spec, runId: runB, startedAt: at(startMs + 9_000), revision: 4 } }
    const old = aPod({ status: ready() })
    const first = planFor(again, old, startMs + 9_000)
    expect(verbs(first)).toEqual(['deletePod'])
    expect(first.status).toMatchObject({ phase: 'Starting', runId: runB, deployment: { id: deploymentIdOfRun(runA) } })
    const next = planFor(applyStatus(again, first), undefined, startMs + 9_000)
    expect(verbs(next)).toEqual(['createPod'])
    expect(next.status).toMatchObject({
      run: { id: runB },
      deployment: { id: deploymentIdOfRun(runB), status: 'Pending' },
      previousDeployment: { id: deploymentIdOfRun(runA), status: 'Stopped' },
    })
  })
})

describe('the reported queue of a ready server', () => {
  const server = aPod({ status: ready() })
  const reporting = (world: World, queue?: WorldQueue) =>
    planFor(world, server, startMs, runB, { queried: queue && { kind: 'answered', queue } })

  test('stays in the status until the server is gone, across restarts of the operator', () => {
    const planned = reporting(active(), { active: 3, queued: 1 })
    expect(planned.status.queue).toEqual({ active: 3, queued: 1 })
    const world = applyStatus(active(), planned)
    expect(reporting(world).status.queue).toEqual({ active: 3, queued: 1 })
    expect(reporting(world, { active: 0, queued: 0 }).status.queue).toEqual({ active: 0, queued: 0 })
    expect(planFor(world, undefined).status.queue).toBeUndefined()
  })

  test('is not written while it is empty', () => {
    expect(reporting(active(), { active: 0, queued: 0 }).status).toEqual(active().status)
  })
})

describe('a stop', () => {
  test('makes the phase Stopped at once, and the deployment once the server is gone', () => {
    const world = { ...active(), spec: { ...active().spec, ...stopped } }
    const planned = planFor(world, aPod({ status: ready() }))
    expect(verbs(planned)).toEqual(['deletePod'])
    expect(planned.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopping' } })
    expect(planned.status.address).toBeUndefined()
    const gone = planFor(applyStatus(world, planned), undefined)
    expect(gone.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Stopped' } })
  })

  test('deletes a draining pod only once', () => {
    const world = { ...active(), spec: { ...active().spec, ...stopped } }
    const draining = aPod({ status: ready(), metadata: { deletionTimestamp: at(startMs) } })
    expect(verbs(planFor(world, draining))).toEqual([])
  })

  test('of an unrecorded run records its end before the pod is deleted', () => {
    const pod = podOf(planFor(aWorld(running)))
    const recorded = planFor(aWorld(stopped), pod)
    expect(recorded).toMatchObject({ steps: [], requeueAfterMs: 0 })
    expect(recorded.status).toMatchObject({ phase: 'Stopped', run: { id: runA }, deployment: { status: 'Stopping' } })
    const deletion = planFor(applyStatus(aWorld(stopped), recorded), pod)
    expect(verbs(deletion)).toEqual(['deletePod'])
    expect(deletion.status).toEqual(recorded.status)
  })

  test('of a world that never ran leaves it Inactive', () => {
    expect(planFor(aWorld({ revision: 1 })).status.phase).toBe('Inactive')
  })

  test('that the operator sees together with the start records the run as Stopped', () => {
    expect(planFor(aWorld(stopped)).status).toMatchObject({
      phase: 'Stopped',
      run: { id: runA, startedAt: at(startMs), endReason: 'Stopped' },
      deployment: { id: deploymentIdOfRun(runA), externalId: '', status: 'Stopped' },
    })
  })

  test('that the operator sees together with the next start records both runs in order', () => {
    const world = { ...active(), spec: { ...active().spec, ...stopped, runId: runB } }
    const first = planFor(world, aPod({ status: ready() }))
    expect(verbs(first)).toEqual(['deletePod'])
    expect(first.status).toMatchObject({ run: { id: runA, endReason: 'Stopped' } })
    expect(planFor(applyStatus(world, first)).status).toMatchObject({
      phase: 'Stopped',
      runId: runB,
      run: { id: runB, endReason: 'Stopped' },
      previousDeployment: { id: deploymentIdOfRun(runA), status: 'Stopped' },
    })
  })

  test('gives a server that was never Ready the short grace, and any other the whole one', () => {
    const world = { ...active(), spec: { ...active().spec, ...stopped } }
    const graceOf = (status: Pod['status']): unknown => planFor(world, aPod(withDefined({ status }))).steps[0]
    const short = { verb: 'deletePod', graceSeconds: settings.unreadyStopGraceSeconds }
    expect(graceOf(undefined)).toMatchObject(short)
    expect(graceOf(notReady(startMs))).toMatchObject(short)
    expect(graceOf(ready())).not.toHaveProperty('graceSeconds')
    expect(graceOf(notReady(startMs + 60_000))).not.toHaveProperty('graceSeconds')
  })
})

describe('a server that fails', () => {
  test('is counted before its pod is deleted, and restarted after the backoff', () => {
    const failed = aPod({ status: exitStatus(1) })
    const counted = planFor(active(), failed)
    expect(verbs(counted)).toEqual([])
    expect(counted.status).toMatchObject({
      phase: 'Active',
      run: { restarts: 1 },
      deployment: { status: 'Restarting' },
    })
    const world = applyStatus(active(), counted)
    expect(verbs(planFor(world, failed))).toEqual(['deletePod'])
    expect(planFor(world, undefined)).toMatchObject({ steps: [], requeueAfterMs: 1_000 })
    expect(verbs(planFor(world, undefined, startMs + 1_000))).toEqual(['createPod'])
  })

  test('is counted once', () => {
    const failed = aPod({ status: exitStatus(1) })
    const world = applyStatus(active(), planFor(active(), failed))
    expect(planFor(world, failed).status.run?.restarts).toBe(1)
  })

  test('too often leaves a previous deployment with the status Error', () => {
    const run = { ...active().status?.run, endReason: 'RestartBudget', endedAt: at(startMs) }
    const deployment = { ...active().status?.deployment, status: 'Stopping' }
    const going = { ...active(), status: { ...active().status, run, deployment } } as World
    const restarted = { ...going, spec: { ...going.spec, runId: runB, startedAt: at(startMs + 1_000) } }
    expect(planFor(restarted, undefined, startMs + 1_000).status.previousDeployment?.status).toBe('Error')
  })

  test('more often than the budget allows ends the run in Error', () => {
    let now = { world: captured(), pod: aPod({ uid: 'pod-0' }) as ReturnType<typeof aPod> | undefined }
    let nowMs = startMs
    for (let failure = 0; failure <= settings.restartBudget; failure += 1) {
      now = settle(now.world, aPod({ uid: `pod-${failure}`, status: exitStatus(3) }), nowMs)
      nowMs += 60_000
      if (now.world.status?.phase !== 'Error') now = settle(now.world, now.pod, nowMs)
    }
    expect(now.world.status).toMatchObject({ phase: 'Error', deployment: { status: 'Error' }, run: { restarts: 4 } })
    expect(now.world.status?.message).toBe('Failed 4 times; last error: the server failed with exit code 3.')
    expect(now.pod).toBeUndefined()
  })

  test('after restartRefillMs of Ready has its earlier failures forgotten', () => {
    const world = active()
    const run = world.status?.run
    if (world.status && run) world.status.run = { ...run, restarts: 3 }
    const planned = planFor(world, aPod({ status: exitStatus(1) }), startMs + 1_000 + settings.restartRefillMs)
    expect(planned.status.run?.restarts).toBe(1)
  })

  test('while it is being deleted neither ends nor restarts the run', () => {
    const going = aPod({ status: exitStatus(1), metadata: { deletionTimestamp: at(startMs) } })
    const planned = planFor(active(), going)
    expect(verbs(planned)).toEqual([])
    expect(planned.status).toMatchObject({
      phase: 'Active',
      run: { restarts: 0 },
      deployment: { status: 'Restarting' },
    })
  })
})

describe('the end of a run', () => {
  test('with exit code 0 is recorded before the pod is deleted, and is final', () => {
    const done = aPod({ status: exitStatus(0) })
    const recorded = planFor(active(), done)
    expect(verbs(recorded)).toEqual([])
    expect(recorded.status).toMatchObject({ phase: 'Stopped', run: { endReason: 'Completed' } })
    const world = applyStatus(active(), recorded)
    expect(verbs(planFor(world, done))).toEqual(['deletePod'])
    expect(verbs(planFor(world, undefined))).toEqual([])
  })

  test('by its duration is Stopped, and never early', () => {
    const world = { ...active(), spec: { ...active().spec, durationMinutes: 1 } }
    const before = planFor(world, aPod({ status: ready() }), startMs + 59_999)
    expect(before).toMatchObject({ status: { phase: 'Active' }, requeueAfterMs: 1 })
    const over = planFor(world, aPod({ status: ready() }), startMs + 60_000)
    expect(verbs(over)).toEqual(['deletePod'])
    expect(over.status).toMatchObject({ phase: 'Stopped', run: { endReason: 'Expired' } })
  })

  test('by its duration before the first status is recorded before the pod is deleted', () => {
    const world = aWorld({ ...running, durationMinutes: 1 })
    const pod = podOf(planFor(world))
    const recorded = planFor(world, pod, startMs + 60_000)
    expect(recorded).toMatchObject({ steps: [], status: { run: { id: runA, endReason: 'Expired' } } })
    expect(verbs(planFor(applyStatus(world, recorded), pod, startMs + 60_000))).toEqual(['deletePod'])
  })

  test('deletes a transient world after its duration, once no server is left', () => {
    const base = active()
    const world = { ...base, spec: { ...base.spec, transient: true, durationMinutes: 1 } }
    const over = startMs + 60_000
    const expired = planFor(world, aPod({ status: ready() }), over)
    expect(verbs(expired)).toEqual(['deletePod'])
    expect(verbs(planFor(applyStatus(world, expired), undefined, over))).toEqual(['deleteWorld'])
  })

  test('by a stop keeps a transient world until its duration is over', () => {
    const base = active()
    const world = { ...base, spec: { ...base.spec, ...stopped, transient: true, durationMinutes: 1 } }
    expect(planFor(world, undefined, startMs + 1_000)).toMatchObject({ steps: [], requeueAfterMs: 59_000 })
    expect(verbs(planFor(world, undefined, startMs + 60_000))).toEqual(['deleteWorld'])
  })

  test('is in the status before the transient world is deleted', () => {
    const base = active()
    const spec = { ...base.spec, ...stopped, transient: true, durationMinutes: 1 }
    const edited = { ...base, spec, metadata: { ...base.metadata, generation: 2 } }
    const planned = planFor(edited, undefined, startMs + 60_000)
    expect(planned).toMatchObject({ steps: [], requeueAfterMs: 0, status: { observedGeneration: 2 } })
    expect(verbs(planFor(applyStatus(edited, planned), undefined, startMs + 60_000))).toEqual(['deleteWorld'])
  })

  test('deletes a transient world whose run started and stopped before the operator saw it', () => {
    const world = aWorld({ ...stopped, transient: true, durationMinutes: 1 })
    const recorded = planFor(world, undefined, startMs + 1_000)
    expect(recorded).toMatchObject({ steps: [], requeueAfterMs: 59_000, status: { run: { id: runA } } })
    expect(verbs(planFor(applyStatus(world, recorded), undefined, startMs + 60_000))).toEqual(['deleteWorld'])
  })

  test('deletes a transient world whose run began and expired while no operator ran', () => {
    const world = aWorld({ ...running, transient: true, durationMinutes: 1 })
    const recorded = planFor(world, undefined, startMs + 90_000)
    expect(recorded).toMatchObject({ steps: [], status: { run: { id: runA, endReason: 'Expired' } } })
    expect(verbs(planFor(applyStatus(world, recorded), undefined, startMs + 90_000))).toEqual(['deleteWorld'])
  })

  test('does not delete a transient world without a duration or a run', () => {
    const base = active()
    const endless = { ...base, spec: { ...base.spec, ...stopped, transient: true } }
    expect(planFor(endless, undefined, startMs + 1e12)).toMatchObject({ steps: [] })
    expect(verbs(planFor(aWorld({ transient: true, durationMinutes: 1 }), undefined, startMs + 1e12))).toEqual([])
  })

  test('does not delete a transient world whose spec has just changed', () => {
    const base = active()
    const spec = { ...base.spec, ...stopped, transient: true, durationMinutes: 1 }
    const edited = { ...base, spec, metadata: { ...base.metadata, generation: 2 } }
    expect(verbs(planFor(edited, undefined, startMs + 60_000))).toEqual([])
  })
})

describe('without the API', () => {
  test('the operator names the run, and the next one only after a stop', () => {
    const first = settle(aWorld({ state: 'Running' }), undefined, startMs)
    expect(first.world.status?.run?.id).toBe(runB)
    const ended = settle(first.world, aPod({ run: runB, status: exitStatus(0) }), startMs)
    expect(settle(ended.world, undefined, startMs + 5_000).pod).toBeUndefined()
    const stop = settle({ ...ended.world, spec: { ...ended.world.spec, state: 'Stopped' } }, undefined, startMs)
    const again = { ...stop.world, spec: { ...stop.world.spec, state: 'Running' as const } }
    const planned = planFor(again, undefined, startMs, runA)
    expect(planned.status).toMatchObject({ phase: 'Starting', run: { id: runA } })
    expect(planned.status.run?.endReason).toBeUndefined()
  })

  test("a kubectl start of the API's own world waits for a run id of the API", () => {
    const stop = settle({ ...active(), spec: { ...active().spec, ...stopped } }, undefined, startMs)
    const planned = planFor({ ...stop.world, spec: { ...stop.world.spec, state: 'Running' } }, undefined)
    expect(verbs(planned)).toEqual([])
    expect(planned.status).toMatchObject({
      phase: 'Stopped',
      message: 'Waiting for the API to assign the id of the next run.',
    })
    expect(conditionOf(planned.status, 'Ready')).toBe('False/WaitingForApi')
  })
})

describe('a pod of another owner', () => {
  test('is never deleted, and the status reports the taken name', () => {
    const foreign = aPod({ metadata: { ownerReferences: [] } })
    const planned = planFor(captured(), foreign)
    expect(verbs(planned)).toEqual([])
    expect(planned.status.message).toContain('belongs to another owner')
  })
})

describe('a deletion', () => {
  test('drains the server, creates none, and reports when none is left', () => {
    const world = { ...active(), metadata: { ...active().metadata, deletionTimestamp: at(startMs), generation: 2 } }
    const draining = planFor(world, aPod({ status: ready() }))
    expect(verbs(draining)).toEqual(['deletePod'])
    expect(draining.status.deployment?.status).toBe('Stopping')
    const gone = planFor(applyStatus(world, draining), undefined)
    expect(verbs(gone)).toEqual([])
    expect(gone.status).toMatchObject({ observedGeneration: 2, deployment: { status: 'Stopped' } })
  })

  test('records an unrecorded run before its pod is deleted', () => {
    const pod = podOf(planFor(aWorld(running)))
    const world = aWorld(running, undefined, { deletionTimestamp: at(startMs) })
    const recorded = planFor(world, pod)
    expect(recorded).toMatchObject({ steps: [], status: { run: { id: runA }, deployment: { status: 'Stopping' } } })
    expect(verbs(planFor(applyStatus(world, recorded), pod))).toEqual(['deletePod'])
  })
})

describe('the recorded end of a run is final', () => {
  const done = aPod({ status: exitStatus(0) })
  const failed = aPod({ status: waitingFor('ErrImagePull') })
  const lateMs = startMs + settings.startDeadlineMs
  const unnamed = { state: 'Running' } as const
  const begun = (spec: WorldSpecInput) => applyStatus(aWorld(spec), planFor(aWorld(spec), undefined, startMs, runA))
  const completed = (spec: WorldSpecInput = running): World => settle(begun(spec), done, startMs).world
  const inError = (spec: WorldSpecInput = running): World => settle(begun(spec), failed, lateMs).world
  const withState = (world: World, state: 'Running' | 'Stopped'): World => ({
    ...world,
    spec: { ...world.spec, state },
  })
  const stop = (world: World, nowMs: number) => {
    const now = withState(world, 'Stopped')
    return applyStatus(now, planFor(now, undefined, nowMs))
  }
  const endOf = ({ status }: World) => [status?.run?.endedAt, status?.run?.endReason, status?.run?.endMessage]

  test('after a later stop of a completed run', () => {
    const after = stop(completed(), startMs + 5_000)
    expect(endOf(after)).toEqual([at(startMs), 'Completed', 'The server ended the run.'])
    expect(after.status).toMatchObject({ phase: 'Stopped', message: 'The server ended the run.' })
  })

  test('after a later stop of a failed run, whose world is Stopped and no longer Degraded', () => {
    const before = inError()
    expect(before.status).toMatchObject({ phase: 'Error', run: { endReason: 'StartDeadline' } })
    const after = stop(before, lateMs + 5_000)
    expect(endOf(after)).toEqual(endOf(before))
    expect(after.status).toMatchObject({ phase: 'Stopped', deployment: { status: 'Error' } })
    expect(after.status).not.toHaveProperty('message')
    expect(conditionOf(after.status ?? {}, 'Ready')).toBe('False/Stopped')
    expect(conditionOf(after.status ?? {}, 'Degraded')).toBe('False/AsExpected')
    expect(planFor(after, undefined, lateMs + 9_000).status).toEqual(after.status)
  })

  test.each([
    ['stopped', { spec: { ...active().spec, ...stopped } }],
    ['completed', completed()],
    ['failed', inError()],
  ])('after the deletion of a %s world', (_, changes) => {
    const world = 'metadata' in changes ? changes : stop({ ...active(), ...changes }, startMs)
    const deleted = { ...world, metadata: { ...world.metadata, deletionTimestamp: at(lateMs) } }
    expect(endOf({ ...deleted, status: planFor(deleted, undefined, lateMs + 9_000).status })).toEqual(endOf(world))
  })

  test('and only a stop lets the next Running begin another run, if the operator names runs', () => {
    for (const ended of [completed(unnamed), inError(unnamed)]) {
      expect(planFor(ended, undefined, lateMs).status.run?.id).toBe(runA)
      const next = planFor(withState(stop(ended, lateMs), 'Running'), undefined, lateMs + 1_000)
      expect(next.status).toMatchObject({ phase: 'Starting', runId: runB, run: { id: runB } })
    }
  })
})

test('a second reconcile of an unchanged world plans the same status', () => {
  const pod = aPod({ status: ready() })
  const first = planFor(active(), pod, startMs + 5_000)
  const second = planFor(applyStatus(active(), first), pod, startMs + 50_000)
  expect(second.status).toEqual(first.status)
  expect(second.steps).toEqual([])
})
