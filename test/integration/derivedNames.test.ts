import { execFileSync } from 'node:child_process'
import { beforeAll, expect, test } from 'vitest'
import { buildBotPod } from '#operator/bots/pod.ts'
import { settings as botSettings, someBots } from '#operator/testing/bots.ts'
import { aWorld, settings } from '#operator/testing/world.ts'
import { buildPlaceholders } from '#operator/world/placeholder.ts'
import { parsePlacement } from '#operator/world/placement.ts'
import { buildPod } from '#operator/world/pod.ts'
import { captureRun } from '#operator/world/run.ts'
import { buildService } from '#operator/world/service.ts'
import { hasService } from '#shared/domain/ports.ts'
import { networkingStrategies } from '#shared/enumerations.ts'
import { isServiceName } from '#shared/kube/names.ts'
import { groupVersion } from '#shared/resources/group.ts'
import { getServers } from '#test/support/servers.ts'

const namespace = 'derived-names'
const runId = 'run-00000000000000000000000001'
const dots = `${'a.'.repeat(31)}b`
const names = ['w'.repeat(63), `w${'-'.repeat(61)}0`, '1', '0'.repeat(63), 'my.world', dots, '1.a-b']

/** Returns the error of the API server for these objects, or undefined if it accepts each. */
const refusal = (objects: readonly object[]): string | undefined => {
  const { kubectl, adminKubeconfig } = getServers()
  const args = ['--kubeconfig', adminKubeconfig, 'create', '--dry-run=server', '--validate=strict', '-f', '-']
  try {
    const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects })
    execFileSync(kubectl, args, { input, stdio: 'pipe' })
    return undefined
  } catch (error) {
    return String((error as { stderr: unknown }).stderr)
  }
}

beforeAll(() => {
  const { kubectl, adminKubeconfig } = getServers()
  const items = [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: dots }, handler: 'a' },
    { apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', metadata: { name: dots }, value: 1 },
  ]
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items })
  execFileSync(kubectl, ['--kubeconfig', adminKubeconfig, 'create', '-f', '-'], { input, stdio: 'pipe' })
})

const parsePlaces = (entry: object) => parsePlacement(JSON.stringify([entry]))
const longKey = `${'a.'.repeat(126)}b/${'K'.repeat(63)}`
const places = [
  { nodeLabels: { [longKey]: 'v'.repeat(63), A: '' }, priorityClassName: dots, runtimeClassName: dots },
  {
    tolerations: [{ operator: 'Exists' }, { key: longKey, value: 'a_b.c', effect: 'NoExecute', tolerationSeconds: 0 }],
  },
]
const impossiblePlaces = [
  { nodeLabels: { 'a b': '' } },
  { nodeLabels: { a: '-' } },
  { runtimeClassName: 'a..b' },
  { priorityClassName: 'A' },
  { tolerations: [{ operator: 'Exists', value: 'a' }] },
  { tolerations: [{ value: 'a' }] },
  { tolerations: [{ key: 'a', tolerationSeconds: 1 }] },
]

const spec = {
  state: 'Running',
  runtime: {
    image: `${'!'.repeat(1_024)}`,
    mapName: '語'.repeat(256),
    contentId: '$(HOME)\n=',
    args: ['', '\n', '語'.repeat(4_096)] as string[],
  },
} as const
const combinations = names.flatMap((name) => networkingStrategies.map((strategy) => ({ name, strategy })))

test.each(combinations)(
  'a World $name with $strategy is refused, or each of its objects can exist',
  ({ name, strategy }) => {
    const world = {
      apiVersion: groupVersion,
      kind: 'World',
      metadata: { name, namespace },
      spec: { ...spec, networking: { strategy } },
    }
    const refused = refusal([world])
    if (hasService(strategy) && !isServiceName(name)) {
      expect(refused).toContain('a name of a-z, 0-9 and - that begins with a letter')
      return
    }
    expect(refused).toBeUndefined()
    const placement = places.flatMap((place) => parsePlaces(place).value ?? [])
    expect(placement).toHaveLength(places.length)
    for (const place of placement) {
      const placed = { ...settings, placement: [place] }
      const made = aWorld(world.spec, undefined, { name, namespace })
      const run = captureRun({ world: made, policy: {}, settings: placed, nowMs: 0 }, runId)
      const service = buildService(made, run, placed)
      const bots = someBots(1, { metadata: { name, namespace }, spec: { worldName: name } })
      const bot = { index: 9_999, restarts: 99, runId, address: `${'a.'.repeat(126)}b:65535` }
      const objects = [
        buildPod(made, run, placed, {}, strategy === 'HostPort' ? [65_535] : []),
        ...(!hasService(strategy)
          ? []
          : [service, ...buildPlaceholders({ ...service, metadata: { ...service.metadata, uid: 'f'.repeat(36) } })]),
        { apiVersion: bots.apiVersion, kind: bots.kind, metadata: { name, namespace }, spec: bots.spec },
        buildBotPod(bots, made, bot, { ...botSettings, image: spec.runtime.image }),
      ]
      expect(refusal(objects)).toBeUndefined()
    }
  },
)

test.each(impossiblePlaces)('the operator refuses the placement %j', (place) => {
  expect(parsePlaces(place).errors).toHaveLength(1)
})

test.each([
  ['World', { runtime: { image: ' registry.example/a' } }, 'spec.runtime.image'],
  ['World', { runtime: { image: 'a\u00a0' } }, 'spec.runtime.image'],
  ['BotDeployment', { worldName: 'A', count: 1 }, 'spec.worldName'],
  ['BotDeployment', { worldName: 'w'.repeat(64), count: 1 }, 'spec.worldName'],
])('a %s with %j is refused where it is given', (kind, spec, path) => {
  expect(refusal([{ apiVersion: groupVersion, kind, metadata: { name: 'a', namespace }, spec }])).toContain(path)
})
