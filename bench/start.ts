import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#dev/ports.ts'
import { forgetPostgres } from '#dev/postgres.ts'
import { stackMark } from '#dev/process.ts'
import { startStack } from '#dev/stack.ts'
import { startPods } from './pods.ts'
import { formatRows, type Row } from './report.ts'
import { unlessStopped } from './signal.ts'
import { startWorlds } from './worlds.ts'

const warmUp = 30
const count = Number(process.env.ORRERY_BENCH_WORLDS ?? 100)

/** Measures REST start → pod → Active on a whole stack, compared with a client that creates bare pods. */
export const benchStart = async (print: (line: string) => void): Promise<void> => {
  const stateDir = mkdtempSync(join(tmpdir(), 'orrery-bench-'))
  process.env[stackMark] = stateDir
  mkdirSync(join(stateDir, 'logs'))
  const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)
  const env = { ...process.env, KUBECONFIG: '', ORRERY_LOG_LEVEL: 'warn' }
  const stack = await startStack({ stateDir, apiPort: await freePort(), node: 'kwok', env, progress })
  const measure = async (): Promise<void> => {
    // The first start is slow and not counted, since the bench measures a running system.
    await startPods(stack.info, warmUp, 'warm-up')
    await startWorlds(stack.info, warmUp, { isSubscribed: true })
    const rows: Row[] = []
    // Bare pods are measured first and last, so that a change in the speed of the machine shows in their difference.
    rows.push(await startPods(stack.info, count, 'bare pods, before'))
    for (const isSubscribed of [false, true]) rows.push(...(await startWorlds(stack.info, count, { isSubscribed })))
    rows.push(await startPods(stack.info, count, 'bare pods, after'))
    print(`\nstart: ${count} worlds at once over REST\n${formatRows(rows)}`)
  }
  try {
    await unlessStopped(measure())
  } finally {
    await stack.stop()
    forgetPostgres(join(stateDir, 'postgres'))
    rmSync(stateDir, { recursive: true, force: true })
  }
}
