import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { delimiter } from 'node:path'
import { findIn } from '#dev/kubernetes/binaries.ts'

/** The docker command, whose engine runs on this machine. */
export type Docker = {
  readonly command: string
  /** What the command takes from the user's environment. */
  readonly environment: Record<string, string>
  /** What it printed; a failure is an error with its own words. `input` is a file. */
  run(args: readonly string[], options?: { timeoutMs?: number; input?: string }): Promise<string>
}

const architectures: Record<string, readonly string[]> = { x64: ['x86_64', 'amd64'], arm64: ['aarch64', 'arm64'] }

/** Looks for an engine of Linux containers that shares this machine's loopback; says why there is none. */
export const findDocker = async (env: NodeJS.ProcessEnv): Promise<Docker | string> => {
  const command = findIn(
    (env.PATH ?? '').split(delimiter).filter((dir) => dir !== ''),
    'docker',
  )
  if (command === undefined) return 'the docker command is not on the PATH'
  const docker = createDocker(command, env)
  try {
    const host = env.DOCKER_HOST || (await endpointOf(docker))
    if (!isHere(host)) return `its engine is on another machine (${host}), whose ports are not reached from here`
    const [os, architecture = ''] = (await docker.run(['info', '--format', '{{.OSType}} {{.Architecture}}'])).split(' ')
    if (os !== 'linux') return `its engine runs containers of ${os}, k3s needs linux`
    if (!architectures[process.arch]?.includes(architecture)) return `its engine is of another architecture`
    return docker
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The context decides where DOCKER_HOST does not; what knows no contexts (podman) has its engine here. */
const endpointOf = (docker: Docker): Promise<string> =>
  docker.run(['context', 'inspect', '--format', '{{.Endpoints.docker.Host}}']).catch(() => '')

const isHere = (host: string): boolean =>
  !/^(tcp|ssh|https?):/.test(host) || ['localhost', '127.0.0.1', '[::1]'].includes(URL.parse(host)?.hostname ?? '')

const createDocker = (command: string, env: NodeJS.ProcessEnv): Docker => {
  const own = Object.entries(env).filter(([name]) => name.startsWith('DOCKER_'))
  return {
    command,
    environment: Object.fromEntries(own.map(([name, value]) => [name, value ?? ''])),
    run: (args, { timeoutMs = 20_000, input } = {}) =>
      new Promise((resolve, reject) => {
        const stdin = input === undefined ? 'ignore' : openSync(input, 'r')
        const child = spawn(command, [...args], { env, stdio: [stdin, 'pipe', 'pipe'], timeout: timeoutMs })
        if (typeof stdin === 'number') closeSync(stdin)
        let output = ''
        let errors = ''
        child.stdout?.on('data', (data: Buffer) => (output += data.toString()))
        child.stderr?.on('data', (data: Buffer) => (errors += data.toString()))
        child.once('error', reject)
        child.once('close', (code, signal) => {
          if (code === 0) return resolve(output.trim())
          const why = errors.trim() || (signal === null ? `exit code ${code}` : `no end within ${timeoutMs / 1000} s`)
          reject(new Error(`docker ${args[0]}: ${why}`))
        })
      }),
  }
}
