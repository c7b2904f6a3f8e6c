import { unlessStopped } from '../signal.ts'
import { bots } from './bots.ts'
import { burst } from './burst.ts'
import { openCluster } from './cluster.ts'
import { deletion } from './deletion.ts'
import { failover, idle, restart } from './idle.ts'
import { createObjects } from './objects.ts'
import type { Part } from './part.ts'
import { steady } from './steady.ts'

/** The parts in the order in which they run. Later parts use the worlds of earlier ones. */
const all = { deletion, steady, burst, idle, restart, failover, bots } satisfies Record<string, Part>

export const operatorParts = Object.keys(all) as (keyof typeof all)[]

/** Runs parts of the operator bench on one control plane with a simulated node. */
export const benchOperator = async (
  parts: readonly (keyof typeof all)[],
  print: (line: string) => void,
): Promise<void> => {
  if (parts.length === 0) return
  const cluster = await openCluster((line) => void process.stderr.write(`[bench] ${line}\n`))
  const { transport, startOperator } = cluster
  const objects = createObjects(transport)
  const say = (what: string, figure?: string, met?: boolean, goal?: string): void => {
    if (figure === undefined) {
      print(`\n${what}`)
      return
    }
    const verdict = met === undefined ? '' : `   ${met ? 'met' : 'MISSED'} (${goal})`
    print(`  ${what.padEnd(36)} ${figure}${verdict}`)
  }
  const count = (variable: string, usual: number): number => Number(process.env[variable] ?? usual)
  try {
    for (const part of parts) await unlessStopped(all[part]({ transport, objects, startOperator, say, count }))
  } finally {
    await cluster.stop()
  }
}
