import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { untilSignal } from '#shared/process.ts'
import { importImages } from './install/images.ts'
import { forgetMachine, type Machine, namespace, startMachine } from './install/machine.ts'
import { followProduction } from './install/production.ts'
import { followTrial, followTrialUpgrade } from './install/trial.ts'
import { checkOutPrevious, type PreviousVersion } from './versions/previous.ts'

// `npm run test:install` installs the chart on a real node of this machine: a trial that is upgraded, a new trial as docs/install.md
// describes it, then a production installation, which is upgraded from the previous version, rolled back, removed and installed again.
const project = fileURLToPath(new URL('..', import.meta.url))
const startedMs = performance.now()
const say = (line: string): void =>
  void process.stdout.write(`${((performance.now() - startedMs) / 1000).toFixed(1).padStart(6)} s  ${line}\n`)

const showState = async ({ kubectl }: Machine): Promise<void> => {
  for (const args of [
    ['get', 'pods', '-A', '-o', 'wide'],
    ['get', 'events', '-n', namespace, '--sort-by=.metadata.creationTimestamp'],
    ['logs', '-n', namespace, 'deployment/orrery-api', '--tail=20', '--all-containers'],
    ['logs', '-n', namespace, 'deployment/orrery-operator', '--tail=20'],
    ['logs', '-n', namespace, 'orrery-test'],
  ]) {
    const shown = await kubectl(...args).catch(() => '')
    process.stderr.write(`\n$ kubectl ${args.join(' ')}\n${shown}`)
  }
}

const follow = async (machine: Machine, previous: PreviousVersion): Promise<void> => {
  say(`packing the images of this version and of ${previous.commit}`)
  const current = await importImages(machine, project)
  const previousImages = await importImages(machine, previous.dir)
  await followTrialUpgrade(machine, { current, previous, previousImages, say })
  await followTrial(machine, current, say)
  await followProduction(machine, { current, previous, previousImages, say })
}

const interruption = async (): Promise<never> => {
  throw new Error(`${await untilSignal()} ended the test.`)
}

let machine: Machine | undefined
let previous: PreviousVersion | undefined
try {
  machine = await startMachine(say)
  previous = checkOutPrevious(join(machine.stateDir, 'previous'))
  await Promise.race([follow(machine, previous), interruption()])
} catch (error) {
  const { message, stderr = '' } = error as { message: string; stderr?: string }
  process.stderr.write(`${message}\n${stderr}\n`)
  process.exitCode = 1
  if (machine !== undefined) await showState(machine)
} finally {
  previous?.remove()
  await machine?.stop()
  if (machine !== undefined && process.exitCode !== 1) forgetMachine(machine)
}
// A command that the test still waits for after an interruption, or the wait for a signal, must not keep it.
process.exit()
