import { sleep, systemClock } from '#shared/clock.ts'
import { worldResource } from '#shared/resources/group.ts'
import type { Operator } from './cluster.ts'
import { worldName } from './objects.ts'
import type { Bench, Part } from './part.ts'
import { watchNamespace } from './seen.ts'

const namespace = 'bench-idle'
const readyMs = 1_800_000
const batch = 250
const sampleMs = 5_000
/** A busy operator writes ten events a second, so those of many starts take a while. */
const settleMs = 600_000

/** Starts worlds until enough are Active, and returns their number. Worlds of earlier parts count. */
const fill = async ({ transport, objects, count, say }: Bench, operator: Operator): Promise<number> => {
  const worlds = count('ORRERY_BENCH_IDLE_WORLDS', 5_000)
  await objects.namespace(namespace)
  const live = await watchNamespace(transport, worldResource, namespace)
  const startedMs = performance.now()
  const present = live.count()
  for (let from = present; from < worlds; from += batch) {
    await objects.startWorlds(namespace, Math.min(batch, worlds - from), from)
    // At most one batch ahead of the operator.
    await live.untilReady(Math.max(0, from - batch), readyMs)
  }
  await live.untilReady(worlds, readyMs)
  await live.stop()
  if (worlds > present) {
    const seconds = (performance.now() - startedMs) / 1000
    say(
      `${worlds - present} worlds to Active`,
      `${seconds.toFixed(0)} s; operator ${(await operator.usage()).rssMiB} MiB`,
    )
  }
  return worlds
}

/** Waits until the operator has written nothing for three samples. */
export const settled = async (operator: Operator): Promise<void> => {
  const deadlineMs = performance.now() + settleMs
  let last = -1
  for (let calm = 0; calm < 3; ) {
    const { writes, events, waiting } = await operator.usage()
    calm = writes + events === last && waiting === 0 ? calm + 1 : 0
    last = writes + events
    if (performance.now() > deadlineMs) throw new Error('the operator did not come to rest')
    await sleep(systemClock, sampleMs)
  }
}

/** Measures an operator of many running worlds that do not change. */
export const idle: Part = async (bench) => {
  const { startOperator, say, count } = bench
  const minutes = count('ORRERY_BENCH_IDLE_MINUTES', 5)
  const operator = await startOperator('idle')
  const worlds = await fill(bench, operator)
  await settled(operator)
  const start = await operator.usage()
  const startedMs = performance.now()
  let most = start.rssMiB
  while (performance.now() < startedMs + minutes * 60_000) {
    await sleep(systemClock, sampleMs)
    most = Math.max(most, (await operator.usage()).rssMiB)
  }
  const end = await operator.usage()
  const seconds = (performance.now() - startedMs) / 1000
  const writes = end.writes + end.events - start.writes - start.events
  const core = ((end.cpuSeconds - start.cpuSeconds) / seconds) * 100
  say(`${worlds} idle worlds for ${(seconds / 60).toFixed(1)} min`)
  say('writes', `${writes}, and ${end.leaseWrites - start.leaseWrites} of the lease`, writes === 0, '0')
  say('CPU', `${core.toFixed(2)} % of a core`, core < 3, '< 3 %')
  say('memory', `${most} MiB at most`, most <= 300, '<= 300 MiB')
  await operator.stop()
}

/** Measures an operator that starts while many worlds run. */
export const restart: Part = async (bench) => {
  const { startOperator, say } = bench
  const first = await startOperator('restart')
  const worlds = await fill(bench, first)
  await settled(first)
  await first.stop()
  const startedMs = performance.now()
  const again = await startOperator('restart')
  const readyMs = performance.now() - startedMs
  let lookedMs = 0
  while (lookedMs === 0) {
    const { waiting, cpuSeconds } = await again.usage()
    if (waiting === 0 && cpuSeconds > 0) lookedMs = performance.now() - startedMs
    await sleep(systemClock, 20)
  }
  await settled(again)
  const { writes, events, rssMiB } = await again.usage()
  say(`restart with ${worlds} worlds`)
  say('start → ready', `${(readyMs / 1000).toFixed(1)} s`, readyMs <= 10_000, '<= 10 s')
  say('start → every world looked at', `${(lookedMs / 1000).toFixed(1)} s; ${rssMiB} MiB`)
  say('writes', `${writes + events}`, writes + events === 0, '0')
  await again.stop()
}

/** Measures the failover to a standby with warm caches, after the leader stops and after it is killed. */
export const failover: Part = async (bench) => {
  const { startOperator, say } = bench
  for (const [signal, goalMs] of [
    ['SIGTERM', 2_000],
    ['SIGKILL', 17_000],
  ] as const) {
    const leader = await startOperator(`leader-${signal}`)
    const worlds = await fill(bench, leader)
    await settled(leader)
    const standby = await startOperator(`standby-${signal}`)
    const tookMs = await takeOver(bench, leader, signal, worlds)
    const how = signal === 'SIGTERM' ? 'in order' : 'by a crash'
    const goal = `<= ${goalMs / 1000} s`
    say(`failover ${how}: end → write for a world`, `${(tookMs / 1000).toFixed(2)} s`, tookMs <= goalMs, goal)
    await standby.stop()
  }
}

let extra = 0

/** Ends the leader and creates a world. Returns the milliseconds until the status of that world is written. */
const takeOver = async (
  { objects }: Bench,
  leader: Operator,
  signal: NodeJS.Signals,
  worlds: number,
): Promise<number> => {
  extra += 1
  const at = worlds + 100_000 + extra
  leader.signal(signal)
  const startedMs = performance.now()
  await objects.stoppedWorlds(namespace, 1, at)
  for (;;) {
    const { status } = await objects.worlds.get({ namespace, name: worldName(at) })
    if (status !== undefined) break
    await sleep(systemClock, 20)
  }
  const tookMs = performance.now() - startedMs
  await objects.worlds.delete({ namespace, name: worldName(at) })
  await leader.exited
  return tookMs
}
