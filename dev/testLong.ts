import { type CommandEnd, runCommand } from './testing/command.ts'

// `npm run test:long`: all tests that `npm test` leaves out because they are long, random or timed. Each prints its seeds and figures.
const minuteMs = 60_000
const stages = [
  'faults',
  'packaging',
  'gateway',
  'timing',
  'clients',
  'model',
  'specs',
  'values',
  'soak',
  'crash',
] as const
const commands = [
  ...stages.map((stage) => ({ name: `npm test ${stage}`, args: ['test', stage], limitMs: 301 * minuteMs })),
  { name: 'npm run test:install', args: ['run', '-s', 'test:install'], limitMs: 20 * minuteMs },
  { name: 'npm run fuzz', args: ['run', '-s', 'fuzz'], limitMs: 60 * minuteMs },
]

const describe = ({ code, signal, isLate }: CommandEnd): string => {
  if (isLate) return 'ended after its limit'
  return code === 0 ? 'passed' : `failed with ${signal ?? `exit code ${code}`}`
}

const lines: string[] = []
for (const { name, args, limitMs } of commands) {
  const startMs = performance.now()
  const end = await runCommand('npm', args, { limitMs })
  lines.push(`${name}: ${describe(end)}, ${((performance.now() - startMs) / minuteMs).toFixed(1)} minutes`)
  if (end.code !== 0) process.exitCode = 1
}
process.stdout.write(`${lines.join('\n')}\n`)
