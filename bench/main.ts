import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { cpus, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'
import { freePort } from '#dev/ports.ts'
import { forgetPostgres } from '#dev/postgres.ts'
import { stackMark } from '#dev/process.ts'
import { startStack } from '#dev/stack.ts'
import { startOrExit } from '#shared/process.ts'
import { startPods } from './pods.ts'
import { formatRows, type Row } from './report.ts'
import { startWorlds } from './worlds.ts'

// `npm run bench`: how long REST start → pod → Active takes, beside the same client making the bare pods itself.
const warmUp = 30
const count = Number(process.env.ORRERY_BENCH_WORLDS ?? 100)

await startOrExit(async () => {
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
    const lock = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex').slice(0, 8)
    process.stdout.write(
      `${count} at once on a simulated node; ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ` +
        `Node ${process.version}, lock ${lock}\n\n${formatRows(rows)}\n`,
    )
  } finally {
    await stack.stop()
    forgetPostgres(join(stateDir, 'postgres'))
    rmSync(stateDir, { recursive: true, force: true })
  }
})
