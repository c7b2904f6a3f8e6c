import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { endsWithThisProcess } from '#dev/parent.ts'
import { freePort } from '#dev/ports.ts'
import { forgetPostgres } from '#dev/postgres.ts'
import type { StackInfo } from '#dev/stack.ts'
import { type createRest, inNewProject, type WorldBody } from './rest.ts'
import { eventually } from './wait.ts'

/** The limit for a stack to become ready. The first one may have to build its programs. */
export const startMs = 15 * 60_000

/** A stack that `npm start` started. */
export type RunningStack = {
  readonly info: StackInfo
  readonly child: ChildProcess
  readonly exited: Promise<number | null>
  /** Returns the output so far. */
  readonly output: () => string
}

/** Runs `npm start` as a user does, with its own state folder. `env` is added to this process's environment. */
export const npmStart = async (
  stateDir: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<RunningStack> => {
  const file = join(stateDir, 'stack.json')
  // The file of a killed stack would be mistaken for that of the new one.
  rmSync(file, { force: true })
  const start = ['dev/start.ts', '--api-port', String(await freePort()), ...args]
  const bound = endsWithThisProcess(process.execPath, start)
  const child = spawn(bound.command, bound.args, {
    env: { ...process.env, ORRERY_STATE_DIR: stateDir, KUBECONFIG: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data))
  // The close event comes after exit, when all output has been read.
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  const ready = async () => child.exitCode !== null || existsSync(file)
  await eventually('stack.json', ready, { timeoutMs: startMs })
  if (child.exitCode !== null) {
    await exited
    throw new Error(`npm start ended with ${child.exitCode}:\n${output}`)
  }
  return { info: JSON.parse(readFileSync(file, 'utf8')), child, exited, output: () => output }
}

/** Deletes all data of a stack that has ended. */
export const forget = (stateDir: string): void => {
  forgetPostgres(join(stateDir, 'postgres'))
  rmSync(stateDir, { recursive: true, force: true })
}

/** Creates a world in a new project, or in that of the client, and starts it over REST. */
export const aStartedWorld = async (
  { info }: RunningStack,
  body: object = {},
  given?: ReturnType<typeof createRest>,
) => {
  const client = given ?? (await inNewProject(info.apiUrl, info.rootApiKey))
  const made = await client.call<{ worldId: string }>('POST', '/api/worlds/', {
    name: 'Lobby',
    transient: false,
    ...body,
  })
  const id = made.body.worldId
  const path = `/api/worlds/${id}/`
  const namespace = `orrery-${client.scope.organizationId}`
  const phase = (wanted: string) =>
    eventually(
      `phase ${wanted}`,
      async () => {
        const { body: world } = await client.call<WorldBody>('GET', path)
        return world.status.phase === wanted && world
      },
      { timeoutMs: 60_000 },
    )
  expect((await client.call('POST', `${path}start/`)).status).toBe(200)
  return { id, path, namespace, client, phase }
}

/** Creates and starts a world as `aStartedWorld` does, and waits until it is Active. */
export const aRunningWorld = async (...given: Parameters<typeof aStartedWorld>) => {
  const world = await aStartedWorld(...given)
  await world.phase('Active')
  return world
}
