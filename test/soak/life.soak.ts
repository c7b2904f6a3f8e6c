import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { labels } from '#shared/resources/group.ts'
import { botSelectorOf } from '#shared/resources/selectors.ts'
import { botsName } from '#test/crash/botFixture.ts'
import { startSimulator } from '#test/crash/simulator.ts'
import { createWorldFixture, runId, worldName } from '#test/crash/worldFixture.ts'
import { createFaultProxy } from '#test/support/faultProxy.ts'
import { metricOf } from '#test/support/metrics.ts'
import { startOperator } from '#test/support/processes.ts'
import { drawSeed } from '#test/support/seed.ts'
import { getServers } from '#test/support/servers.ts'
import { eventually } from '#test/support/wait.ts'
import { seeded } from '#test/support/writers.ts'

const minutes = Number(process.env.ORRERY_SOAK_MINUTES ?? 20)
/** The memory goal of the operator. */
const maxMemoryMib = 300
/** The shortest run whose memory is compared between its start and its end. */
const minMinutesForFlatMemory = 10
const seed = drawSeed('ORRERY_SOAK_SEED')
const worlds = 12
const mostBots = 3
const longestPauseMs = 400
/** The fraction of actions that kill the operator. */
const killPart = 0.02
const sampleMs = 5_000

const random = seeded(seed)
const project = `soak-${process.pid}`
const labelSelector = `${labels.project}=${project}`
let simulator: ReturnType<typeof startSimulator>
let proxy: Awaited<ReturnType<typeof createFaultProxy>>
let operator: Awaited<ReturnType<typeof startOperator>>

const start = () =>
  startOperator({ KUBECONFIG: proxy.kubeconfig, ORRERY_LEASE_NAMESPACE: project, ORRERY_LOG_LEVEL: 'warn' })

beforeAll(async () => {
  proxy = await createFaultProxy({ kubeconfig: getServers().operatorKubeconfig, labelSelector })
  simulator = startSimulator({ labelSelector })
  await simulator.makeNamespace(project)
  await simulator.allowLeases(project)
  operator = await start()
})
afterAll(async () => {
  await operator?.stop()
  await simulator?.stop()
  await proxy?.remove()
})

/** Creates a world with bots, and tracks their desired state. */
const aLife = async (at: number) => {
  const namespace = `${project}-${at}`
  await simulator.makeNamespace(namespace)
  const fixture = createWorldFixture(simulator, namespace, project)
  let [run, isRunning, bots] = [0, false, 0]
  await fixture.edit()
  await fixture.bots.edit({ count: 0 })
  const acts = {
    begin: async () => {
      run += 1
      isRunning = true
      await fixture.start(run)
    },
    stop: async () => {
      isRunning = false
      await fixture.stop()
    },
    rename: () => fixture.edit({ displayName: `Lobby ${Math.floor(random() * 1_000)}` }),
    scale: async () => {
      bots = Math.floor(random() * (mostBots + 1))
      await fixture.bots.edit({ count: bots })
    },
    losePod: async () => {
      const pod = await fixture.pod()
      if (pod !== undefined) await simulator.pods.delete(pod.metadata, { gracePeriodSeconds: 0 }).catch(() => undefined)
    },
  }
  return {
    act: () => Object.values(acts)[Math.floor(random() * Object.keys(acts).length)]?.(),
    /** Reports whether the pods match the last action. */
    isAsWanted: async (): Promise<boolean> => {
      const [world, { items }] = [await fixture.world(), await simulator.pods.list({ namespace })]
      const server = items.filter(({ metadata }) => metadata.name === worldName)
      const { items: ofBots } = await simulator.pods.list({ namespace, labelSelector: botSelectorOf(botsName) })
      const ofRun = [...server, ...ofBots].every(({ metadata }) => metadata.labels?.[labels.run] === runId(run))
      const phases = isRunning ? ['Active'] : ['Stopped', 'Inactive']
      const isCounted = server.length === (isRunning ? 1 : 0) && ofBots.length === (isRunning ? bots : 0)
      return (
        isCounted &&
        ofRun &&
        phases.includes(world?.status?.phase ?? '') &&
        items.length === server.length + ofBots.length
      )
    },
  }
}

const kill = async (): Promise<void> => {
  operator.signal('SIGKILL')
  await operator.exited
  operator = await start()
}

test(`after ${minutes} minutes of edits, starts, stops and kills, pods match the last request and memory is bounded`, async () => {
  const lives = await Promise.all(Array.from({ length: worlds }, (_, at) => aLife(at)))
  const startedMs = performance.now()
  const passed = (): number => (performance.now() - startedMs) / (minutes * 60_000)
  const memory: { part: number; mib: number }[] = []
  const [did, kills] = [{ acts: 0 }, { count: 0 }]
  const sampling = (async () => {
    while (passed() < 1) {
      await delay(sampleMs)
      const bytes = await metricOf(`${operator.url}/metrics`, /^process_resident_memory_bytes (\d+)$/gm).catch(() => 0)
      memory.push({ part: passed(), mib: bytes / 2 ** 20 })
    }
  })()
  while (passed() < 1) {
    // The operator is not killed in the last half, so its memory can be compared.
    if (passed() < 0.5 && random() < killPart) {
      kills.count += 1
      await kill()
    }
    await lives[Math.floor(random() * lives.length)]?.act()
    did.acts += 1
    await delay(random() * longestPauseMs)
  }
  await sampling
  for (const [at, life] of lives.entries())
    await eventually(`world ${at} as wanted`, life.isAsWanted, { timeoutMs: 90_000 })
  const median = (from: number, to: number): number => {
    const values = memory.filter(({ part, mib }) => part >= from && part < to && mib > 0).map(({ mib }) => mib)
    return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
  }
  const [early, late] = [median(0.6, 0.75), median(0.9, 1.1)]
  const figures = `${early.toFixed(0)} MiB, later ${late.toFixed(0)} MiB`
  process.stdout.write(`soak: seed ${seed}, ${did.acts} acts, ${kills.count} kills, ${figures}\n`)
  expect(kills.count).toBeGreaterThan(0)
  expect(late).toBeLessThan(maxMemoryMib)
  // The heap of a new process still grows for minutes, so a short run cannot show a leak.
  if (minutes >= minMinutesForFlatMemory) expect(late).toBeLessThan(early * 1.15 + 5)
})
