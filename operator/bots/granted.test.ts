import { describe, expect, test } from 'vitest'
import { findCondition } from '#operator/lifecycle/events.ts'
import {
  aBot,
  active,
  aGrant,
  aWorld,
  createdIndexes,
  deletedIndexes,
  planFor,
  readyBots,
  settings,
  someBots,
  startedIn,
  type TestInput,
  tenantPolicy,
} from '#operator/testing/bots.ts'
import { at, exitStatus, runA, runB, startMs } from '#operator/testing/common.ts'
import { labels } from '#shared/resources/group.ts'
import { shareOf } from './limit.ts'
import { buildBotPod } from './pod.ts'

const policy = tenantPolicy
/** A bot deployment in the namespace of an organization, with a grant. */
const granted = (count: number, grant?: object, status: object = startedIn(runA)) =>
  someBots(count, { ...status, spec: { granted: aGrant(grant) } })
const ungranted = (count: number, status: object = startedIn(runA)) => someBots(count, status)
const tenantPlan = (input: TestInput) => planFor({ policy, ...input })
const progressing = (input: TestInput) => findCondition(tenantPlan(input).status, 'Progressing')

describe('in the namespace of an organization', () => {
  test.each([
    ['fewer than granted', 2, 3, [0, 1]],
    ['as many as granted', 3, 3, [0, 1, 2]],
    ['more than granted', 5, 3, [0, 1, 2]],
    ['some with a grant of 0', 5, 0, []],
  ])('bots are created within the grant: %s', (_, count, grantedCount, created) => {
    expect(createdIndexes(tenantPlan({ bots: granted(count, { count: grantedCount }) }))).toEqual(created)
  })

  test('bots beyond the grant wait for the API, and Progressing says so', () => {
    const input = { bots: granted(5), pods: readyBots(3) }
    expect(tenantPlan(input).status).toMatchObject({ phase: 'Starting', ready: 3, replicas: 3 })
    expect(progressing(input)).toMatchObject({
      status: 'True',
      reason: 'WaitingForApi',
      message: '3 of 5 bots are confirmed by the API.',
    })
    expect(findCondition(tenantPlan({ bots: granted(3), pods: readyBots(3) }).status, 'Ready')?.status).toBe('True')
  })

  test.each([
    ['no grant', ungranted(5)],
    ['the grant of another resource', granted(5, { uid: 'copied' })],
    ['the grant of another organization', granted(5, { organizationId: 'org-00000000000000000000000002' })],
  ])('%s creates no bot, keeps those that run, and waits for the API', (_, bots) => {
    const pods = [...readyBots(2), aBot(2, { status: exitStatus(3) })]
    for (const input of [{ bots }, { bots, pods }, { bots, pods: readyBots(2) }]) {
      expect([createdIndexes(tenantPlan(input)), deletedIndexes(tenantPlan(input))]).toEqual([[], []])
      expect(progressing(input)).toMatchObject({
        status: 'True',
        reason: 'WaitingForApi',
        message: 'Waiting for the API to confirm the bots.',
      })
    }
    expect(tenantPlan({ bots, pods: readyBots(2) }).status).toMatchObject({ phase: 'Starting', ready: 2 })
  })

  test.each([
    ['a grant', granted(1)],
    ['no grant', ungranted(1)],
  ])('a lower count acts at once, with %s', (_, bots) => {
    const planned = tenantPlan({ bots, pods: readyBots(3) })
    expect(deletedIndexes(planned)).toEqual([1, 2])
  })

  test('a count of 0 waits for nothing', () => {
    expect(tenantPlan({ bots: ungranted(0) }).status.phase).toBe('Running')
    expect(progressing({ bots: ungranted(0) })?.status).toBe('False')
  })

  test('a bot that fails without a grant is recorded, and restarts once there is one', () => {
    const failed = tenantPlan({ bots: ungranted(1), pods: [aBot(0, { status: exitStatus(3) })] })
    const status = { status: failed.status }
    const later = { nowMs: startMs + 60_000, siblings: [] }
    expect(createdIndexes(tenantPlan({ bots: ungranted(1, status), ...later }))).toEqual([])
    expect(createdIndexes(tenantPlan({ bots: granted(1, {}, status), ...later }))).toEqual([0])
  })

  test.each([
    ['no grant', ungranted(3, {})],
    ['a grant of 0', granted(3, { count: 0 }, {})],
  ])('%s leaves bots Pending, and neither run nor duration begins', (_, bots) => {
    const { status } = tenantPlan({ bots })
    expect(status).toMatchObject({ phase: 'Pending', ready: 0 })
    expect([status.run, status.startedAt]).toEqual([undefined, undefined])
  })

  test('bots of an older run stop without a grant too', () => {
    const pods = [aBot(0, { run: runB })]
    expect(deletedIndexes(tenantPlan({ bots: ungranted(1, {}), pods }))).toEqual([0])
    expect(deletedIndexes(tenantPlan({ bots: ungranted(1), world: active(runB), pods: readyBots(1) }))).toEqual([0])
  })

  test('the bots of a world are counted as granted, and those without a grant are not', () => {
    const older = { uid: 'older', name: 'older', creationTimestamp: at(startMs - 1_000) }
    const sibling = (spec: object) => someBots(9, { metadata: older, spec })
    const allowedBeside = (spec: object) => {
      const bots = granted(5, { count: 5 })
      return shareOf({ bots, siblings: [bots, sibling(spec)], world: active(), policy }).allowed
    }
    expect(allowedBeside({ granted: aGrant({ uid: 'older', count: 9 }) })).toBe(1)
    expect(allowedBeside({ granted: aGrant({ uid: 'older', count: 6 }) })).toBe(4)
    expect(allowedBeside({})).toBe(5)
  })

  test('the size is that which the API checked, although the profile of the world may be smaller', () => {
    const size = { cpu: '9', memory: '9Gi' }
    const bots = someBots(1, { ...startedIn(runA), spec: { ...size, granted: aGrant(size) } })
    expect(createdIndexes(tenantPlan({ bots }))).toEqual([0])
  })
})

test('outside the namespaces of organizations a grant changes nothing', () => {
  expect(createdIndexes(planFor({ bots: granted(5, { count: 0 }), policy: {} }))).toEqual([0, 1, 2, 3, 4])
})

describe('the pod of a bot', () => {
  const forged = { [labels.organization]: 'forged', [labels.project]: 'forged', [labels.worldId]: 'forged' }
  const world = { ...active(), metadata: { ...active().metadata, labels: forged } }
  const spec = { cpu: '2', memory: '2Gi', args: ['--own'] }
  const buildFor = (grant: object | undefined, inPolicy: object) => {
    const metadata = { labels: { ...forged, [labels.botDeploymentId]: 'forged' } }
    const bots = someBots(2, { metadata, spec: { ...spec, ...(grant && { granted: grant }) } })
    const bot = { index: 0, restarts: 0, runId: runA, address: '10.0.0.7:7777' }
    return buildBotPod(bots, world, bot, { ...settings, image: 'bot:1' }, inPolicy)
  }

  test('in the namespace of an organization has the ids, the size and the arguments of the grant', () => {
    const grant = aGrant({ count: 1, cpu: '50m', memory: '64Mi', args: ['--granted'] })
    const pod = buildFor(grant, policy)
    const [container] = pod.spec.containers
    expect(JSON.stringify(pod)).not.toContain('forged')
    expect(pod.metadata.labels).toMatchObject({
      [labels.organization]: grant.organizationId,
      [labels.project]: grant.projectId,
      [labels.worldId]: grant.worldId,
      [labels.botDeploymentId]: grant.botDeploymentId,
    })
    expect(container?.args).toEqual(['--granted'])
    expect(container?.resources?.limits).toMatchObject({ cpu: '50m', memory: '64Mi' })
    const env = Object.fromEntries((container?.env ?? []).map(({ name, value }) => [name, value]))
    expect(env).toMatchObject({
      ORRERY_ORGANIZATION_ID: grant.organizationId,
      ORRERY_PROJECT_ID: grant.projectId,
      ORRERY_WORLD_ID: grant.worldId,
      ORRERY_BOT_DEPLOYMENT_ID: grant.botDeploymentId,
      ORRERY_BOT_COUNT: '1',
    })
  })

  test('in the namespace of an organization is not built without a grant', () => {
    expect(() => buildFor(undefined, policy)).toThrow('without a grant')
  })

  test('elsewhere has the size, the arguments and the labels of the resource', () => {
    const { metadata, spec: built } = buildFor(aGrant(), {})
    expect(metadata.labels?.[labels.organization]).toBe('forged')
    expect(built.containers[0]?.args).toEqual(['--own'])
    expect(built.containers[0]?.resources?.limits).toMatchObject({ cpu: '2', memory: '2Gi' })
  })
})

describe('in the namespace of a deleted organization', () => {
  const closed = { ...policy, isClosed: true as const }
  const paused = { metadata: { annotations: { 'orrery.dev/paused': 'true' } } }

  test.each([
    ['with a grant', granted(3), active()],
    ['that are paused', someBots(3, { ...startedIn(runA), ...paused }), active()],
    ['without a world', ungranted(3), undefined],
    ['of a world that has stopped', ungranted(3), aWorld({ phase: 'Stopped', runId: runA })],
  ])('all bots stop: %s', (_, bots, world) => {
    const stopping = planFor({ bots, world, policy: closed, pods: readyBots(3) })
    expect([createdIndexes(stopping), deletedIndexes(stopping)]).toEqual([[], [0, 1, 2]])
    expect(stopping.status.phase).toBe('Stopping')
    const { status } = planFor({ bots, world, policy: closed })
    expect(status).toMatchObject({ phase: 'Stopped', message: 'The organization was deleted. Its bots do not run.' })
    expect(findCondition(status, 'Ready')).toMatchObject({ status: 'False', reason: 'OrganizationDeleted' })
  })

  test('a paused bot deployment that is deleted releases its finalizer once no bot is left', () => {
    const metadata = { ...paused.metadata, deletionTimestamp: at(startMs), generation: 7 }
    const { status } = planFor({ bots: someBots(3, { metadata }), policy: closed })
    expect(status).toMatchObject({ phase: 'Stopped', observedGeneration: 7 })
  })
})
