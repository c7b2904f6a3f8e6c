import { spawnSync } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'

// `npm run fuzz -- --minutes 10 --seed 7` runs the fuzz test for a given time, with a new seed each time by default.
const { values } = parseArgs({ options: { seed: { type: 'string' }, minutes: { type: 'string', default: '10' } } })
const seed = values.seed ?? String(randomInt(1_000_000))
const minutes = Number(values.minutes)
// The token of a run is valid for an hour.
if (!/^\d{1,9}$/.test(seed) || !(minutes >= 1 && minutes <= 50)) {
  process.stderr.write('--seed must be a whole number, and --minutes 1 to 50\n')
  process.exit(2)
}
process.stdout.write(`seed ${seed}, ${minutes} minutes\n`)
const { status } = spawnSync('vitest', ['run', '--project', 'fuzz'], {
  stdio: 'inherit',
  env: { ...process.env, ORRERY_FUZZ_SEED: seed, ORRERY_FUZZ_MINUTES: String(minutes) },
})
process.exit(status ?? 1)
