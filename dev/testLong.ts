import { type CommandEnd, runCommand } from './testing/command.ts'

// `npm run test:long`: all tests that `npm test` leaves out because they are long, random or timed. Each prints its seeds and figures.
const minuteMs = 60_000
const commands = [
  { name: 'test:faults', limitMs: 40 * minuteMs },
  { name: 'test:packaging', limitMs: 30 * minuteMs },
  { name: 'test:timing', limitMs: 30 * minuteMs },
  { name: 'test:install', limitMs: 20 * minuteMs },
  { name: 'test:clients', limitMs: 40 * minuteMs },
  { name: 'fuzz', limitMs: 60 * minuteMs },
  { name: 'test:model', limitMs: 60 * minuteMs },
  { name: 'test:specs', limitMs: 30 * minuteMs },
  { name: 'test:values', limitMs: 60 * minuteMs },
  { name: 'soak', limitMs: 90 * minuteMs },
  { name: 'test:crash', limitMs: 300 * minuteMs },
]

const describe = ({ code, signal, isLate }: CommandEnd): string => {
  if (isLate) return 'ended after its limit'
  return code === 0 ? 'passed' : `failed with ${signal ?? `exit code ${code}`}`
}

const lines: string[] = []
for (const { name, limitMs } of commands) {
  const startMs = performance.now()
  const end = await runCommand('npm', ['run', '-s', name], { limitMs })
  lines.push(`${name}: ${describe(end)}, ${((performance.now() - startMs) / minuteMs).toFixed(1)} minutes`)
  if (end.code !== 0) process.exitCode = 1
}
process.stdout.write(`${lines.join('\n')}\n`)
