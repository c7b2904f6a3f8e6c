import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aCluster } from '#test/support/cluster.ts'
import { startOperator } from '#test/support/processes.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'

const cluster = aCluster()
const dir = mkdtempSync(join(tmpdir(), 'orrery-resources-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Applies a resource as a user does with a file. */
const apply = (kind: string, name: string, spec: object): string => {
  const file = join(dir, `${name}.json`)
  writeFileSync(file, JSON.stringify({ apiVersion: 'orrery.dev/v1alpha1', kind, metadata: { name }, spec }))
  return cluster.kubectl('apply', '-n', 'default', '-f', file)
}
const refusal = (attempt: () => unknown): string => {
  try {
    attempt()
  } catch (error) {
    return String((error as { stderr?: unknown }).stderr ?? error)
  }
  throw new Error('it was accepted')
}
const manyTexts = (count: number, letter = 'a', length = 4096): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, letter.repeat(length / letter.length)]))
/** Keys of 256 characters, which differ in the last two. */
const manyKeys = (count: number, letter: string): Record<string, string> => {
  const keyAt = (at: number): string => letter.repeat(254) + [at >> 4, at & 15].map((n) => nearest(letter, n)).join('')
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [keyAt(at), '']))
}
/** Returns one of the sixteen characters from a letter on. */
const nearest = (letter: string, at: number): string => String.fromCodePoint((letter.codePointAt(0) ?? 0) + at)
const canI = (kubeconfig: string, ...what: string[]): string => {
  try {
    const args = ['--kubeconfig', kubeconfig, 'auth', 'can-i', ...what, '-n', 'default']
    return execFileSync(getServers().kubectl, args, { encoding: 'utf8' }).trim()
  } catch {
    return 'no'
  }
}

describe('a World made by hand', () => {
  let operator: Awaited<ReturnType<typeof startOperator>>
  beforeAll(async () => {
    operator = await startOperator()
  })
  afterAll(() => operator?.stop())

  test('runs without the API, with a run id of the operator', async () => {
    apply('World', 'by-hand', { state: 'Running', runtime: { mapName: 'hall' } })
    const pod = await cluster.pod('default', 'by-hand').exists()
    await cluster.pod('default', 'by-hand').becomesReady({ ip: '10.0.0.9' })
    const world = await eventually('Active', async () => {
      const seen = await cluster.world('default', 'by-hand').find()
      return seen?.status?.phase === 'Active' && seen
    })
    expect(world.status).toMatchObject({
      address: { host: '10.0.0.9', port: 7777 },
      runId: pod.metadata.labels?.['orrery.dev/run'],
      observedGeneration: world.metadata.generation,
    })
    expect(world.metadata.finalizers).toBeUndefined()
    expect(cluster.kubectl('get', 'wld', '-n', 'default')).toMatch(
      /NAME +DISPLAY +PHASE +READY +ADDRESS +PLAYERS +PROFILE +AGE/,
    )
    cluster.kubectl('wait', '--for=condition=Ready', '--timeout=120s', 'world/by-hand', '-n', 'default')
  })

  test('the operator deletes the pod of a deleted World, also in a cluster without a garbage collector', async () => {
    apply('World', 'deleted', { state: 'Running' })
    await cluster.pod('default', 'deleted').exists()
    await cluster.pod('default', 'deleted').becomesReady()
    await eventually('Active', async () => {
      const seen = await cluster.world('default', 'deleted').find()
      return seen?.status?.phase === 'Active'
    })
    await cluster.worlds.delete({ namespace: 'default', name: 'deleted' })
    // This control plane has no garbage collector.
    await cluster.pod('default', 'deleted').isGone()
  })

  test('passes Pod Security restricted with its pod', async () => {
    cluster.kubectl('create', 'namespace', 'strict')
    cluster.allowOperator('strict')
    cluster.kubectl('label', 'namespace', 'strict', 'pod-security.kubernetes.io/enforce=restricted')
    const file = join(dir, 'strict.json')
    const world = {
      apiVersion: 'orrery.dev/v1alpha1',
      kind: 'World',
      metadata: { name: 'confined' },
      spec: { state: 'Running' },
    }
    writeFileSync(file, JSON.stringify(world))
    cluster.kubectl('apply', '-n', 'strict', '-f', file)
    await cluster.pod('strict', 'confined').exists()
  })
})

describe('rejects an invalid resource with a message that says what is valid', () => {
  test.each([
    ['a profile that does not exist', 'World', { scaling: { profile: 'Huge' } }, 'Capacity30'],
    [
      'a run without its start',
      'World',
      { runId: 'run-00000000000000000000000000' },
      'runId and startedAt must be set together',
    ],
    ['a duration of nothing', 'World', { durationMinutes: 0 }, 'durationMinutes'],
    ['a duration above 10 years', 'World', { durationMinutes: 5_256_001 }, 'durationMinutes'],
    ['bots without a world', 'BotDeployment', { count: 1 }, 'worldName'],
    ['bots with a cpu of 0', 'BotDeployment', { worldName: 'w', count: 1, cpu: '0.0' }, 'cpu must be above 0'],
    ['bots with a memory of 0', 'BotDeployment', { worldName: 'w', count: 1, memory: '0Gi' }, 'memory must be above 0'],
    ['bots with an odd memory', 'BotDeployment', { worldName: 'w', count: 1, memory: 'much' }, 'memory'],
    [
      'annotations above 32 KiB',
      'World',
      { metadata: { annotations: manyTexts(9) } },
      'annotations and labels have at most 32768 bytes together',
    ],
    [
      'annotations and labels above 32 KiB together',
      'BotDeployment',
      { worldName: 'w', count: 0, metadata: { annotations: manyTexts(4), labels: manyTexts(4, '🌍') } },
      'annotations and labels have at most 32768 bytes together',
    ],
    [
      'keys of annotations above 32 KiB',
      'World',
      { metadata: { annotations: manyKeys(33, '🌍') } },
      'annotations and labels have at most 32768 bytes together',
    ],
    [
      'keys of more than 256 characters',
      'BotDeployment',
      { worldName: 'w', count: 0, metadata: { labels: { ['k'.repeat(257)]: '' } } },
      'keys of annotations and labels have at most 256 characters',
    ],
    [
      'arguments above 16 KiB',
      'World',
      { runtime: { args: ['a', 'b', 'c', 'd', 'e'].map((each) => each.repeat(4096)) } },
      'args have at most 16384 bytes together',
    ],
    [
      'arguments of bots above 16 KiB',
      'BotDeployment',
      { worldName: 'w', count: 0, args: ['🌍'.repeat(4096), 'a'] },
      'args have at most 16384 bytes together',
    ],
  ])('%s', (_, kind, spec, sentence) => {
    expect(refusal(() => apply(kind, 'wrong', spec))).toContain(sentence)
  })

  test('accepts metadata and arguments at their limits', () => {
    const metadata = { annotations: { a: 'a'.repeat(4095), ...manyTexts(7, 'a', 4091) }, labels: {} }
    apply('World', 'filled', { metadata, runtime: { args: Array.from({ length: 4 }, () => 'a'.repeat(4096)) } })
  })

  test.each([
    [128, 'a'],
    [64, 'é'],
    [42, '€'],
    [32, '🌍'],
  ])('accepts %i keys of 256 characters %s, which have 32 KiB', (count, letter) => {
    apply('World', 'many-keys', { metadata: { labels: manyKeys(count, letter) } })
  })

  test('a revision that falls, or is removed', () => {
    apply('World', 'fenced', { revision: 7 })
    expect(refusal(() => apply('World', 'fenced', { revision: 6 }))).toContain('spec.revision must not decrease')
    expect(refusal(() => apply('World', 'fenced', {}))).toContain('spec.revision must not decrease')
    apply('World', 'fenced', { revision: 8 })
  })

  test('bots that would move to another world', () => {
    apply('BotDeployment', 'movers', { worldName: 'one', count: 1 })
    expect(refusal(() => apply('BotDeployment', 'movers', { worldName: 'two', count: 1 }))).toContain(
      'create another BotDeployment',
    )
  })
})

test('every field is explained, and both kinds are in the category', () => {
  expect(cluster.kubectl('explain', 'world.spec.state')).toContain('Running starts a run')
  expect(cluster.kubectl('get', 'orrery', '-n', 'default', '-o', 'name')).toContain('world.orrery.dev/')
})

test('the API has no access to pods, and the operator none to specs, namespaces or secrets', () => {
  const [api, operator] = [getServers().apiKubeconfig, getServers().operatorKubeconfig]
  for (const verb of ['get', 'list', 'create', 'delete']) expect(canI(api, verb, 'pods')).toBe('no')
  expect(canI(api, 'patch', 'worlds.orrery.dev', '--subresource=status')).toBe('no')
  expect(canI(operator, 'patch', 'worlds.orrery.dev', '--subresource=status')).toBe('yes')
  expect(canI(operator, 'patch', 'botdeployments.orrery.dev', '--subresource=status')).toBe('yes')
  expect(canI(operator, 'create', 'pods')).toBe('yes')
  for (const [verb, what] of [
    ['patch', 'worlds.orrery.dev'],
    ['patch', 'botdeployments.orrery.dev'],
    ['create', 'namespaces'],
    ['list', 'secrets'],
  ] as const) {
    expect(canI(operator, verb, what)).toBe('no')
  }
})
