import { startOrExit } from '#shared/process.ts'
import { doctor } from './commands/doctor.ts'
import { migrateSchema } from './commands/migrate.ts'
import { rotateKeys } from './commands/rotateKeys.ts'
import { sync } from './commands/sync.ts'

// The command `orrery`. It needs the environment of the API.
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<void>>> = {
  doctor,
  migrate: migrateSchema,
  'rotate-keys': rotateKeys,
  sync,
}

await startOrExit(async () => {
  const [name = '', ...args] = process.argv.slice(2)
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) throw new Error(`Usage: orrery ${Object.keys(commands).join('|')} …`)
  await command(args)
})
