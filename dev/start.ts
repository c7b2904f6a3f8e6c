import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { listen } from '#shared/operations.ts'
import { startOrExit, untilSignal } from '#shared/process.ts'
import type { NodeChoice } from './node/types.ts'
import { endOrphans, runnerOf } from './orphans.ts'
import { forgetPostgres } from './postgres.ts'
import { stackMark, stateVariable } from './process.ts'
import { type StackInfo, startStack } from './stack.ts'

/** The format of a state folder. Data of another format is not used. */
const format = 'orrery-2 postgres-18 etcd-3.6'
const usage = `npm start -- [options]
  --api-port N                      the API's port (default 8080, or ORRERY_PORT)
  --node auto|containerd|kwok       the node: real, simulated, or the best that this machine can run
  --reset                           forget all data of an earlier run
The state is in .orrery/, or where ${stateVariable} says.`

const readOptions = () => {
  const { values } = parseArgs({
    options: {
      'api-port': { type: 'string' },
      node: { type: 'string', default: 'auto' },
      reset: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  })
  const apiPort = Number(values['api-port'] ?? process.env.ORRERY_PORT ?? 8080)
  if (!Number.isInteger(apiPort) || apiPort < 1 || apiPort > 65_535)
    throw new Error(`--api-port is a port, 1 to 65535.\n${usage}`)
  if (!['auto', 'containerd', 'kwok'].includes(values.node))
    throw new Error(`--node is auto, containerd or kwok.\n${usage}`)
  return { apiPort, node: values.node as NodeChoice, reset: values.reset, help: values.help }
}

const say = (line: string): void => void process.stdout.write(`${line}\n`)

/** Claims the state folder for this process: throws if another one runs it, and cleans up after a killed one. */
const prepare = async (stateDir: string, reset: boolean): Promise<void> => {
  const pidFile = join(stateDir, 'pid')
  const running = existsSync(pidFile) ? runnerOf(readFileSync(pidFile, 'utf8')) : undefined
  if (running !== undefined) {
    throw new Error(
      `A stack with the state ${stateDir} runs already (pid ${running}): stop it, or set ${stateVariable}.`,
    )
  }
  const orphans = await endOrphans(stateDir)
  if (orphans > 0) say(`ended ${orphans} processes of an earlier run that was killed`)
  if (reset) {
    forgetPostgres(join(stateDir, 'postgres'))
    rmSync(stateDir, { recursive: true, force: true })
  }
  const formatFile = join(stateDir, 'format')
  const found = existsSync(formatFile) ? readFileSync(formatFile, 'utf8') : format
  if (found !== format) {
    throw new Error(
      `The data in ${stateDir} is of another version (${found}; this is ${format}): start with --reset to forget it.`,
    )
  }
  mkdirSync(stateDir, { recursive: true })
  rmSync(join(stateDir, 'stack.json'), { force: true })
  writeFileSync(formatFile, format)
  writeFileSync(pidFile, String(process.pid))
}

const refuseTakenPort = async (port: number): Promise<void> => {
  const probe = createServer()
  await listen(probe, port).catch((error: Error) => {
    throw new Error(`${error.message} (npm start -- --api-port N)`, { cause: error })
  })
  await new Promise((done) => probe.close(done))
}

const remarks: Record<StackInfo['node'], string> = {
  containerd: '',
  kwok: ' (simulated: no container runs)',
  external: ' (those of the cluster that KUBECONFIG names)',
}

const summary = (info: StackInfo, stateDir: string, seconds: number, console: string): string =>
  `
Orrery is ready after ${seconds} s. Ctrl-C ends it; the data is kept.
  console      ${console}
  API          ${info.apiUrl}   (key: jq -r .rootApiKey ${join(stateDir, 'stack.json')})
  reference    ${info.apiUrl}/api/docs/
  kubectl      ${info.kubectl} --kubeconfig ${info.kubeconfig} get worlds -A
  node         ${info.node}${remarks[info.node]}
  logs         ${join(stateDir, 'logs')}
  try it       npm run demo`

await startOrExit(async () => {
  const startedMs = performance.now()
  const options = readOptions()
  if (options.help) return say(usage)
  const stateDir = resolve(process.env[stateVariable] || fileURLToPath(new URL('../.orrery', import.meta.url)))
  process.env[stackMark] = stateDir
  const stopped = untilSignal()
  await refuseTakenPort(options.apiPort)
  await prepare(stateDir, options.reset)
  const stack = await startStack({ ...options, stateDir, env: process.env, progress: say })
  const file = join(stateDir, 'stack.json')
  // Written to another file and renamed, so that a reader never sees a partial file.
  writeFileSync(`${file}.part`, `${JSON.stringify(stack.info, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${file}.part`, file)
  // It may be turned off, or have faults in its sources.
  const { ok, url } = await fetch(`${stack.info.apiUrl}/console/`)
  say(summary(stack.info, stateDir, Math.round((performance.now() - startedMs) / 1000), ok ? url : 'not served'))
  const end = await Promise.race([stopped, stack.broken.then((reason) => new Error(`${reason} See ${stateDir}/logs.`))])
  say('stopping')
  rmSync(file, { force: true })
  await stack.stop()
  rmSync(join(stateDir, 'pid'), { force: true })
  if (end instanceof Error) throw end
  say('stopped')
})
