import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stateVariable } from './process.ts'
import type { StackInfo } from './stack.ts'

// Runs the command `orrery` in the environment of the shell, or in that of the running stack of `npm start`.
const stateDir = resolve(process.env[stateVariable] || fileURLToPath(new URL('../.orrery', import.meta.url)))
const file = join(stateDir, 'stack.json')
const stackEnvironment = (): NodeJS.ProcessEnv => {
  if (process.env.ORRERY_DATABASE_URL !== undefined || !existsSync(file)) return {}
  const { databaseUrl, kubeconfig, apiUrl, publicUrl } = JSON.parse(readFileSync(file, 'utf8')) as StackInfo
  return {
    ORRERY_DATABASE_URL: databaseUrl,
    KUBECONFIG: kubeconfig,
    ORRERY_PUBLIC_URL: publicUrl,
    ORRERY_PORT: new URL(apiUrl).port,
  }
}
const command = fileURLToPath(new URL('../api/orrery.ts', import.meta.url))
const { status } = spawnSync(process.execPath, [command, ...process.argv.slice(2)], {
  env: { ...process.env, ...stackEnvironment() },
  stdio: 'inherit',
})
process.exitCode = status ?? 1
