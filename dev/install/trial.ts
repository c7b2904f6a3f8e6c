import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { packPostgresImage } from '#dev/images/postgres.ts'
import { type Images, imageValues } from './images.ts'
import { type Machine, makeVolumes, namespace } from './machine.ts'

const chart = fileURLToPath(new URL('../../charts/orrery', import.meta.url))
const guide = fileURLToPath(new URL('../../docs/install.md', import.meta.url))
/** The longest time from the command to the first Active world, on an idle machine with 2 cores. */
const firstWorldSeconds = 90

/**
 * Follows docs/install.md with a trial: installs the chart alone, runs `helm test`, and removes everything. Only the
 * images differ from the defaults, since there is no registry.
 */
export const followTrial = async (machine: Machine, images: Images, say: (line: string) => void): Promise<void> => {
  const { helm, kubectl, bash } = machine
  const postgres = packPostgresImage(join(machine.stateDir, 'images'))
  await machine.importImage(postgres)
  await makeVolumes(machine, 2)
  const file = join(machine.stateDir, 'trial.yaml')
  writeFileSync(file, stringify({ ...imageValues(images), database: { trial: { image: postgres.reference } } }))
  const startedMs = performance.now()
  await helm('install', 'orrery', chart, '--create-namespace', '--values', file, '--wait', '--timeout', '4m')
  say('trial: api, operator and Postgres are ready')
  await helm('test', 'orrery', '--timeout', '3m')
  const seconds = (performance.now() - startedMs) / 1_000
  say(`trial: helm test passed, ${seconds.toFixed(0)} s after helm install`)
  process.stdout.write(await kubectl('logs', '-n', namespace, 'orrery-test'))
  if (seconds > firstWorldSeconds)
    throw new Error(`The first world took ${seconds} s; the limit is ${firstWorldSeconds} s.`)
  await bash(commandsOf('remove'))
  const kinds =
    'crd,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,namespace'
  const left = (await kubectl('get', kinds, '-o', 'name')).split('\n').filter((name) => /orrery/.test(name))
  if (left.length > 0) throw new Error(`The commands that remove everything left ${left.join(', ')}.`)
  say('trial: removed with everything that it had made')
  await kubectl('delete', 'persistentvolume', '--all')
}

/** Returns the commands of the installation guide below a mark. */
const commandsOf = (mark: string): string => {
  const [, commands] =
    new RegExp(`<!-- ${mark} -->\\n\`\`\`bash\\n([\\s\\S]*?)\`\`\``).exec(readFileSync(guide, 'utf8')) ?? []
  if (commands === undefined) throw new Error(`docs/install.md has no commands with the mark ${mark}.`)
  return commands
}
