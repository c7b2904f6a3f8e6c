import type { ClientLimits } from '#dev/kubernetes/controlPlane.ts'
import { startOrExit } from '#shared/process.ts'
import { openCluster } from '../operator/cluster.ts'
import { createObjects } from '../operator/objects.ts'
import { unlessStopped } from '../signal.ts'
import { agentSandbox } from './agentSandbox.ts'
import { agones } from './agones.ts'
import { leastOperator } from './leastOperator.ts'
import { describeMachine } from './machine.ts'
import { measureIdle, measureLoad, type Run } from './measure.ts'
import { readSettings } from './settings.ts'
import { bare, type Controller, namespace, orrery, type Subject } from './subject.ts'
import { type Figures, formatTable } from './table.ts'

// `npm run bench:peers [part…]` measures Orrery beside bare pods, and beside the operators whose programs are given. Each
// controller runs alone on the same control plane. `idle` adds a line to the burst of the last round.
const parts = ['burst', 'rate', 'idle'] as const
type Part = (typeof parts)[number]

const warmUp = 20
const indexesPerLoad = 100_000
const settings = readSettings(process.env)
const { count, rounds, perSecond, idleMs } = settings
const print = (line: string): void => void process.stdout.write(`${line}\n`)
const progress = (line: string): void => void process.stderr.write(`[bench] ${line}\n`)

/** The figures of each load, by the name of the subject. */
type Results = Record<'burst' | 'rate', Map<string, Figures[]>>

let created = 0
const nextIndex = (): number => {
  created += indexesPerLoad
  return created
}

/** Measures the chosen parts of a subject once, after a small load that warms its controller up. */
const measureSubject = async (run: Run, chosen: readonly Part[], results: Results): Promise<void> => {
  const nothing = async (): Promise<Figures> => ({})
  const keep = (load: keyof Results, figures: Figures): void => {
    progress(`${load}, ${run.subject.name}: ${JSON.stringify(figures)}`)
    results[load].set(run.subject.name, [...(results[load].get(run.subject.name) ?? []), figures])
  }
  await measureLoad(run, { from: nextIndex(), count: warmUp }, nothing)
  const rest = chosen.includes('idle') && run.subject !== bare ? () => measureIdle(run, idleMs) : nothing
  if (chosen.includes('burst')) keep('burst', await measureLoad(run, { from: nextIndex(), count }, rest))
  if (chosen.includes('rate')) keep('rate', await measureLoad(run, { from: nextIndex(), count, perSecond }, nothing))
}

/** Measures all subjects on a new control plane, and prints a table for each load. A signal ends it early. */
const measureWith = async (limits: ClientLimits, subjects: readonly Subject[], chosen: readonly Part[]) => {
  const results: Results = { burst: new Map(), rate: new Map() }
  const cluster = await openCluster(progress, limits)
  const running = new Set<Controller>()
  const measureAll = async (): Promise<void> => {
    const { transport } = cluster
    await createObjects(transport).namespace(namespace)
    for (let round = 1; round <= rounds; round += 1) {
      const ofRound = chosen.filter((part) => part !== 'idle' || round === rounds)
      // Alternating orders spread the drift of the machine.
      for (const subject of round % 2 === 1 ? subjects : subjects.toReversed()) {
        const controller = await subject.start(cluster)
        running.add(controller)
        await measureSubject({ transport, subject, controller }, ofRound, results)
        await controller.stop()
        running.delete(controller)
      }
    }
  }
  try {
    await unlessStopped(measureAll())
  } finally {
    for (const controller of running) await controller.stop()
    await cluster.stop()
    const titles = { burst: `${count} at once`, rate: `${count} at ${perSecond} per second` }
    for (const load of ['burst', 'rate'] as const) {
      if (results[load].size === 0) continue
      print(`\n${titles[load]}, client limits ${limits}, rounds: ${rounds}\n\n${formatTable(results[load])}`)
    }
  }
}

await startOrExit(async () => {
  const named = process.argv.slice(2)
  const chosen = parts.filter((part) => named.length === 0 || named.includes(part))
  if (chosen.length < named.length) throw new Error(`The parts are ${parts.join(', ')}.`)
  const given = [
    bare,
    leastOperator,
    orrery,
    ...(settings.agentSandbox === undefined ? [] : agentSandbox(settings.agentSandbox)),
    ...(settings.agones === undefined ? [] : [agones(settings.agones, settings.agonesPort)]),
  ]
  const subjects = given.filter(({ name }) => settings.only.length === 0 || settings.only.includes(name))
  print(`${describeMachine()}; ${new Date().toISOString().slice(0, 10)}`)
  for (const limits of settings.limits) await measureWith(limits, subjects, chosen)
})
