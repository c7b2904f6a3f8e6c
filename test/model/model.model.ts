import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { KubeError } from '#shared/kube/errors.ts'
import { readDifferences } from '#test/support/differences.ts'
import { runOrreryBeside } from '#test/support/processes.ts'
import { createRest } from '#test/support/rest.ts'
import { readDue } from '#test/support/schedules.ts'
import { drawSeed } from '#test/support/seed.ts'
import { aTenant } from '#test/support/tenant.ts'
import { eventually } from '#test/support/wait.ts'
import { seeded } from '#test/support/writers.ts'
import { runSequence } from './actions.ts'
import { startHarness } from './harness.ts'
import type { Expectation, Model, System } from './model.ts'
import { resolveRestore } from './resolveRestore.ts'
import { checkSchedule, describeActs, findRepeatedActs } from './schedule.ts'
import { checkSleepAndWake, findSleepers, findWrongWakes, untilIdleAsExpected } from './sleep.ts'

const firstSeed = drawSeed('ORRERY_MODEL_SEED')
const seeds = Array.from({ length: Number(process.env.ORRERY_MODEL_SEEDS ?? 10) }, (_, at) => firstSeed + at)
const length = Number(process.env.ORRERY_MODEL_ACTIONS ?? 40)
const settleMs = 120_000

const print = (line: string): void => void process.stdout.write(`${line}\n`)

type Harness = Awaited<ReturnType<typeof startHarness>>
let harness: Harness
beforeAll(async () => {
  harness = await startHarness()
})
afterAll(() => harness?.stop())

/** Returns the revisions of the rows of an organization, by the ids of the rows. */
const readRevisions = async (organizationId: string): Promise<[string, number][]> => {
  const { rows } = await harness.db.execute<{ id: string; revision: string }>(sql`
    select id, revision from worlds where organization_id = ${organizationId}
    union all select id, revision from bot_deployments where organization_id = ${organizationId}`)
  return rows.map(({ id, revision }) => [id, Number(revision)])
}

/** Returns the items of a list, or none while the namespace, the definition or the API server is missing. */
const listed = async <T>(read: Promise<{ items: T[] }>): Promise<T[]> => {
  try {
    return (await read).items
  } catch (error) {
    if (error instanceof KubeError && [0, 404, 429, 500, 503].includes(error.status)) return []
    throw error
  }
}

/** Samples an organization: no world may have two servers or sleep with players, and no revision may fall. Returns what it saw. */
const watchInvariants = (organizationId: string, signal: AbortSignal): Promise<string[]> => {
  const namespace = `orrery-${organizationId}`
  const revisions = new Map<string, number>()
  const broken: string[] = []
  const observe = (title: string, key: string, revision: number): void => {
    const before = revisions.get(key) ?? 0
    if (revision < before) broken.push(`the revision of ${title} fell from ${before} to ${revision}`)
    revisions.set(key, revision)
  }
  const sample = async (): Promise<void> => {
    const [epoch, clusterEpoch] = [harness.backup.epoch(), harness.clusterEpoch()]
    const [rows, pods, worlds, bots] = await Promise.all([
      readRevisions(organizationId).catch(() => []),
      listed(harness.simulator.pods.list({ namespace })),
      listed(harness.simulator.worlds.list({ namespace })),
      listed(harness.simulator.botDeployments.list({ namespace })),
    ])
    const servers = pods.filter(
      ({ metadata, status }) =>
        metadata.labels?.['app.kubernetes.io/component'] === 'world' &&
        !/^(Succeeded|Failed)$/.test(status?.phase ?? ''),
    )
    broken.push(...findSleepers(worlds, harness.servers).filter((each) => !broken.includes(each)))
    const owners = servers.map(({ metadata }) => metadata.labels?.['orrery.dev/world'])
    if (new Set(owners).size < owners.length) broken.push(`two servers of a world: ${owners.join()}`)
    // A restored row has an earlier revision. Nothing is known while a copy of the database is being made.
    if (epoch % 2 === 0 && epoch === harness.backup.epoch()) {
      for (const [id, revision] of rows) observe(`the row ${id}`, `${epoch} ${id}`, revision)
    }
    const isOneCluster = clusterEpoch % 2 === 0 && clusterEpoch === harness.clusterEpoch()
    for (const { metadata, spec } of isOneCluster ? [...worlds, ...bots] : []) {
      const { name, uid = '' } = metadata
      if (spec.revision !== undefined) observe(`the resource ${name}`, `${clusterEpoch} ${uid}`, spec.revision)
    }
  }
  return (async () => {
    while (!signal.aborted) {
      await sample()
      await delay(100)
    }
    return broken
  })()
}

/** Runs a command of `orrery sync`, and returns its output. */
const sync = (...args: string[]): Promise<string> =>
  runOrreryBeside(['sync', ...args], { ORRERY_DATABASE_URL: harness.databaseUrl, KUBECONFIG: harness.apiKubeconfig })

/** Accepts the restored cluster whenever the API refuses it. Until then nothing is pushed, and no deletion ends. */
const acceptRestores = async (signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const isRefused = sql`select from cluster_states where refusal is not null`
    const refused = await harness.db.execute(isRefused).catch(() => undefined)
    if ((refused?.rows.length ?? 0) > 0) await sync('accept')
    await delay(500)
  }
}

/** Returns the ids of the bots of an organization that are not deleted. */
const readBots = async (organizationId: string): Promise<string[]> => {
  const { rows } = await harness.db.execute<{ id: string }>(sql`
    select id from bot_deployments
    where organization_id = ${organizationId} and deleting_at is null and removed_at is null`)
  return rows.map(({ id }) => id)
}

/** Returns what must exist and does not, and what exists and must not. */
const violationsOf = (expected: ReadonlyMap<string, { expected: Expectation }>, found: readonly string[]): string[] =>
  [...expected].flatMap(([id, { expected: end }]) =>
    end === 'either' || found.includes(id) === (end === 'exists') ? [] : [`${id}: expected ${end}`],
  )

/** Compares the worlds of REST and the rows of bots with the model. Bots count only while their world must exist. */
const readViolations = async (organizationId: string, { worlds, bots }: Model): Promise<string[]> => {
  // Worlds that kubectl made without a project are in the project "default".
  const organization = createRest(harness.url, { organizationId })
  const { body } = await organization.call<{ documentId: string }[]>('GET', '/api/worlds/')
  const ofWorlds = new Map([...bots].filter(([, { worldId }]) => worlds.get(worldId)?.expected === 'exists'))
  return [
    ...violationsOf(
      worlds,
      body.map(({ documentId }) => documentId),
    ),
    ...violationsOf(ofWorlds, await readBots(organizationId)),
  ]
}

test.each(seeds)('seed %i: rows, resources and pods agree, and nothing is lost', async (seed) => {
  const replicas = seed % 2 === 0 ? 2 : 1
  // Requests and faults pick their replica from numbers of their own, since some of them run beside the sequence.
  await harness.scaleTo(replicas, seeded(seed + 1_000_000))
  const tenant = await aTenant(harness.url)
  const { scope } = tenant
  const { organizationId } = scope
  const aUser = async () =>
    harness.rest(scope, await tenant.token('operator-of-users', [`${tenant.paths.organization}/**:*`]))
  const [rest, organization] = [harness.rest(scope), harness.rest({ organizationId })]
  const namespace = `orrery-${organizationId}`
  const elsewhere = `elsewhere-${process.pid}-${seed}`
  await harness.simulator.makeNamespace(elsewhere)
  const model: Model = { worlds: new Map(), bots: new Map(), dues: new Map(), isUndecided: false, wasRestored: false }
  const { simulator, servers, containers, makeDue, faults } = harness
  const clients = { rest, organization, user: await aUser() }
  const parts = { simulator, servers, containers, makeDue }
  const system: System = { replicas, ...clients, namespace, elsewhere, ...parts, ...faults }
  const over = new AbortController()
  const invariants = watchInvariants(organizationId, over.signal)
  const accepting = acceptRestores(over.signal)
  const done = await runSequence({ system, model, random: seeded(seed) }, length)
  const history = `seed ${seed}, ${replicas} replicas: ${done.join(', ')}`
  print(history)
  try {
    await eventually(
      `agreement after ${history}`,
      async () => {
        const differences = await readDifferences({ ...harness, namespace })
        const due = await readDue(harness.db, organizationId)
        if (differences.length === 0 && due.length === 0) return true
        const output = model.wasRestored ? await resolveRestore(sync, system, model, differences) : ''
        throw new Error([...differences, ...due.map((id) => `${id} is due`), output].join('\n'))
      },
      { timeoutMs: settleMs },
    )
    print(`seed ${seed}: ${(await untilIdleAsExpected(system)).join(', ') || 'no world that may sleep'}`)
    await harness.ready()
    // A restored database does not know tokens that are newer.
    await checkSleepAndWake({ ...system, user: await aUser() })
    await checkSchedule({ system, model })
    print(`seed ${seed}: ${await describeActs(harness.db, organizationId, model)}`)
  } finally {
    over.abort()
    await accepting
  }
  expect(await invariants, history).toEqual([])
  expect(await readViolations(organizationId, model), history).toEqual([])
  expect(await findWrongWakes(harness.db, organizationId), history).toEqual([])
  expect(await findRepeatedActs(harness.db, organizationId, model), history).toEqual([])
})
