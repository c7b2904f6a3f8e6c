import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { startOrExit } from '#shared/process.ts'
import { benchOperator, operatorParts } from './operator/main.ts'
import { benchPoll } from './poll.ts'
import { benchStart } from './start.ts'

// `npm run bench [part…]`: measures a running system and a baseline in the same run.
const parts = ['start', 'poll', ...operatorParts] as const
const chosen = process.argv.slice(2)
const isChosen = (part: string): boolean => chosen.length === 0 || chosen.includes(part)
const print = (line: string): void => void process.stdout.write(`${line}\n`)

await startOrExit(async () => {
  const unknown = chosen.filter((each) => !parts.some((part) => part === each))
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: no part of the bench; they are ${parts.join(', ')}.`)
  const lock = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex').slice(0, 8)
  const memory = Math.round(totalmem() / 2 ** 30)
  print(`a simulated node; ${cpus().length} cores, ${memory} GiB, Node ${process.version}, lock ${lock}`)
  if (isChosen('start')) await benchStart(print)
  if (isChosen('poll')) await benchPoll(print)
  await benchOperator(operatorParts.filter(isChosen), print)
})
