import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#dev/ports.ts'
import { forgetPostgres } from '#dev/postgres.ts'
import { stackMark } from '#dev/process.ts'
import { startStack } from '#dev/stack.ts'
import { startPods } from './pods.ts'
import { formatRows, type Row } from './report.ts'
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
  try {
    // Everything is slow the first time; what is measured is a system that runs.
    await startPods(stack.info, warmUp, 'warm-up')
    await startWorlds(stack.info, warmUp)
    const rows: Row[] = []
    // Bare pods first and last: a machine that warms up or slows down shows in the difference of the two.
    rows.push(await startPods(stack.info, count, 'bare pods, before'))
    rows.push(...(await startWorlds(stack.info, count)))
    rows.push(await startPods(stack.info, count, 'bare pods, after'))
    print(`\nstart: ${count} worlds at once over REST\n${formatRows(rows)}`)
  } finally {
    await stack.stop()
    forgetPostgres(join(stateDir, 'postgres'))
    rmSync(stateDir, { recursive: true, force: true })
  }
}
