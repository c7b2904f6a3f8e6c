import { createBudget } from './testing/budget.ts'
import { finish, installNotes, runSuite } from './testing/suite.ts'
import { summarize } from './testing/summary.ts'
import { type Results, runVitest } from './testing/vitest.ts'

// `npm run test:ci`: what `npm test` runs, then samples of the long tests, as far as the time of a CI job allows.
const minuteMs = 60_000
const seed = process.env.ORRERY_CI_SEED ?? String(Math.floor(Date.now() / 86_400_000))
const longTests = [
  { name: 'fuzz', maxMinutes: 15, env: {} },
  { name: 'soak', maxMinutes: 10, env: { ORRERY_SOAK_MINUTES: '3', ORRERY_SOAK_SEED: seed } },
  {
    name: 'crash',
    maxMinutes: 22,
    env: { ORRERY_CRASH_MINUTES: '14', ORRERY_CRASH_PLANS: '2', ORRERY_CRASH_SEED: seed },
  },
]

const budget = createBudget({ totalMs: 75 * minuteMs, now: () => performance.now() })
const results: Results[] = [runSuite([], { timeoutMs: 70 * minuteMs })]
const notes = installNotes(results.flat())
for (const { name, maxMinutes, env } of longTests) {
  const timeoutMs = maxMinutes * minuteMs
  if (!budget.allows(timeoutMs)) {
    notes.push(`not run: ${name}, which may take ${maxMinutes} minutes; ${budget.usedMinutes()} minutes have passed`)
    continue
  }
  process.stdout.write(`\n${name}, at most ${maxMinutes} minutes, seed ${seed}\n`)
  results.push(runVitest(['--config', `vitest.${name}.config.ts`], { env, timeoutMs }))
}
finish(results.flat(), summarize(results.flat(), notes))
