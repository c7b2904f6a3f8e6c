import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { packPostgresImage } from '#dev/images/postgres.ts'
import type { PreviousVersion } from '#dev/versions/previous.ts'
import { type Images, imageValues } from './images.ts'
import { type Machine, makeVolumes, namespace } from './machine.ts'
import { expectOwnsNothing, trialApiUrl } from './roles.ts'

const chart = fileURLToPath(new URL('../../charts/orrery', import.meta.url))
const guide = fileURLToPath(new URL('../../docs/install.md', import.meta.url))
/** The longest time from the command to the first Active world, on an idle machine with 2 cores. */
const firstWorldSeconds = 90

/** Upgrades a trial of the previous version, and removes it. The API gets a role that owns nothing in the present database. */
export const followTrialUpgrade = async (
  machine: Machine,
  { current, previous, previousImages, say }: TrialUpgrade,
) => {
  const { helm } = machine
  const valuesOf = await prepareTrial(machine)
  const wait = ['--wait', '--timeout', '4m']
  const previousChart = join(previous.dir, 'charts/orrery')
  await helm('install', 'orrery', previousChart, '--create-namespace', ...valuesOf(previousImages), ...wait)
  say(`trial: installed with ${previous.commit}`)
  await helm('upgrade', 'orrery', chart, ...valuesOf(current), ...wait)
  await expectOwnsNothing(await trialApiUrl(machine))
  say('trial: upgraded, and the role of the API owns nothing')
  await removeTrial(machine)
}

type TrialUpgrade = {
  readonly current: Images
  readonly previous: PreviousVersion
  readonly previousImages: Images
  readonly say: (line: string) => void
}

/** Makes the volumes and the image of a trial. Returns a function that returns the arguments of Helm for images. */
const prepareTrial = async (machine: Machine): Promise<(images: Images) => string[]> => {
  const postgres = packPostgresImage(join(machine.stateDir, 'images'))
  await machine.importImage(postgres)
  await makeVolumes(machine, 2)
  const file = join(machine.stateDir, 'trial.yaml')
  return (images) => {
    writeFileSync(file, stringify({ ...imageValues(images), database: { trial: { image: postgres.reference } } }))
    return ['--values', file]
  }
}

/** Removes a trial with the commands of the guide, and checks that nothing is left. */
const removeTrial = async ({ bash, kubectl }: Machine): Promise<void> => {
  await bash(commandsOf('remove'))
  const kinds =
    'crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,namespace'
  const left = (await kubectl('get', kinds, '-o', 'name')).split('\n').filter((name) => /orrery/.test(name))
  if (left.length > 0) throw new Error(`The commands that remove everything left ${left.join(', ')}.`)
  await kubectl('delete', 'persistentvolume', '--all')
}

/**
 * Follows docs/install.md with a trial: installs the chart alone, runs `helm test`, and removes everything. Only the
 * images differ from the defaults, since there is no registry.
 */
export const followTrial = async (machine: Machine, images: Images, say: (line: string) => void): Promise<void> => {
  const { helm, kubectl } = machine
  const values = (await prepareTrial(machine))(images)
  const startedMs = performance.now()
  await helm('install', 'orrery', chart, '--create-namespace', ...values, '--wait', '--timeout', '4m')
  say('trial: api, operator and Postgres are ready')
  await helm('test', 'orrery', '--timeout', '3m')
  const seconds = (performance.now() - startedMs) / 1_000
  say(`trial: helm test passed, ${seconds.toFixed(0)} s after helm install`)
  process.stdout.write(await kubectl('logs', '-n', namespace, 'orrery-test'))
  if (seconds > firstWorldSeconds)
    throw new Error(`The first world took ${seconds} s; the limit is ${firstWorldSeconds} s.`)
  await expectOwnsNothing(await trialApiUrl(machine))
  say('trial: the role of the API owns nothing')
  await removeTrial(machine)
  say('trial: removed with everything that it had made')
}

/** Returns the commands of the installation guide below a mark. */
const commandsOf = (mark: string): string => {
  const [, commands] =
    new RegExp(`<!-- ${mark} -->\\n\`\`\`bash\\n([\\s\\S]*?)\`\`\``).exec(readFileSync(guide, 'utf8')) ?? []
  if (commands === undefined) throw new Error(`docs/install.md has no commands with the mark ${mark}.`)
  return commands
}
