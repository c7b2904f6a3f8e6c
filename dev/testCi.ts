import { missingForContainerd } from './node/index.ts'
import { createBudget } from './testing/budget.ts'
import { finish, installNotes, runProject, runSuite } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'
import { type Results, runScript, runVitest } from './testing/vitest.ts'

// `npm run test:ci`: what `npm test`, `npm run test:faults`, `npm run test:packaging` and `npm run test:e2e` run, then the install
// test and samples of the long tests, as far as the time of a CI job allows.
const minuteMs = 60_000
const seed = process.env.ORRERY_CI_SEED ?? String(Math.floor(Date.now() / 86_400_000))
const isNodePossible = missingForContainerd(process.env).length === 0
const longTests = [
  ...(isNodePossible ? [{ name: 'install', maxMinutes: 8, env: {} }] : []),
  { name: 'fuzz', maxMinutes: 15, env: {} },
  { name: 'model', maxMinutes: 12, env: { ORRERY_MODEL_SEED: seed } },
  {
    name: 'soak',
    maxMinutes: 14,
    env: { ORRERY_SOAK_MINUTES: '3', ORRERY_OUTAGE_MINUTES: '1', ORRERY_SOAK_SEED: seed },
  },
  {
    name: 'crash',
    maxMinutes: 22,
    env: { ORRERY_CRASH_MINUTES: '14', ORRERY_CRASH_PLANS: '2', ORRERY_CRASH_SEED: seed },
  },
]

const budget = createBudget({ totalMs: 75 * minuteMs, now: () => performance.now() })
const results: Results[] = [
  runSuite([], { timeoutMs: 30 * minuteMs }),
  runProject('faults', [], { timeoutMs: 20 * minuteMs }),
  runProject('packaging', [], { timeoutMs: 10 * minuteMs }),
  runProject('e2e', [], { timeoutMs: 25 * minuteMs }),
]
const notes = installNotes(results.flat())
for (const { name, maxMinutes, env } of longTests) {
  const timeoutMs = maxMinutes * minuteMs
  if (!budget.allows(timeoutMs)) {
    notes.push(`not run: ${name}, which may take ${maxMinutes} minutes; ${budget.usedMinutes()} minutes have passed`)
    continue
  }
  process.stdout.write(`\n${name}, at most ${maxMinutes} minutes, seed ${seed}\n`)
  results.push(
    name === 'install'
      ? runScript('dev/testInstall.ts', { timeoutMs })
      : runVitest(['--config', `vitest.${name}.config.ts`], { env, timeoutMs }),
  )
}
finish(results.flat(), summarize(results.flat(), notes))
