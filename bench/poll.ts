import { fork } from 'node:child_process'
import { once } from 'node:events'
import { type AskServer, askServer } from '#operator/world/execute/askServer.ts'
import { createQueuePoll } from '#operator/world/execute/queuePoll.ts'
import { sleep, systemClock } from '#shared/clock.ts'
import { quantile } from './report.ts'

const servers = 1_000
const warmMs = 10_000
const measureMs = 30_000

/** Returns the address of a server of the bench, on this machine. */
export const benchHost = (at: number): string => `127.1.${at >> 8}.${at & 255}`

/** Measures the CPU time of this process for polls of servers, first with Http and then with A2S. */
export const benchPoll = async (print: (line: string) => void): Promise<void> => {
  const child = fork(new URL('pollServers.ts', import.meta.url), [`${servers}`])
  try {
    const [port] = await once(child, 'message')
    const http = await measure({ protocol: 'Http', port: Number(port) })
    const a2s = await measure({ protocol: 'A2S', port: 27_015 })
    print(`\npolls of ${servers} servers`)
    print(`  Http: ${http.line}`)
    print(`  A2S:  ${a2s.line}, ${(a2s.cpuMs / http.cpuMs).toFixed(2)} of Http`)
  } finally {
    child.disconnect()
  }
}

const measure = async (query: { readonly protocol: 'Http' | 'A2S'; readonly port: number }) => {
  let timesMs: number[] = []
  let failures = 0
  const ask: AskServer = async (server, signal) => {
    const startedMs = performance.now()
    const answer = await askServer(server, signal)
    timesMs.push(performance.now() - startedMs)
    if (answer?.kind !== 'report') failures += 1
    return answer
  }
  const poll = createQueuePoll({ ask, clock: systemClock, random: Math.random, changed: () => undefined })
  for (let at = 0; at < servers; at += 1) {
    const server = {
      podUid: 'p',
      host: benchHost(at),
      capacity: 20,
      isAwaited: false,
      isDue: false,
      recorded: undefined,
    }
    poll.start(`bench/w${at}`, { ...server, query: { ...query, timeoutMs: 2_000 } })
  }
  await sleep(systemClock, warmMs)
  timesMs = []
  const before = process.cpuUsage()
  await sleep(systemClock, measureMs)
  const { user, system } = process.cpuUsage(before)
  poll.close()
  const cpuMs = (user + system) / timesMs.length
  const [p50, p99] = [0.5, 0.99].map((part) => quantile(timesMs, part).toFixed(1))
  const line = `${cpuMs.toFixed(0)} ms of CPU for 1,000 polls; an answer p50 ${p50} ms, p99 ${p99} ms; ${failures} failures of ${timesMs.length}`
  return { cpuMs, line }
}
