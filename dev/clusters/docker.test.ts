import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findDocker } from './docker.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-docker-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const here = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const anEngine = ({ info = `linux ${here}`, context = 'echo unix:///var/run/docker.sock' } = {}): void => {
  const file = join(dir, 'docker')
  writeFileSync(file, `#!/bin/sh\ncase $1 in context) ${context} ;; info) echo ${info} ;; esac\n`)
  chmodSync(file, 0o755)
}
const look = (env: NodeJS.ProcessEnv = {}) => findDocker({ PATH: dir, ...env })

describe('a Docker engine', () => {
  test('on this machine is used, also one that knows no contexts or listens on loopback', async () => {
    anEngine()
    expect(await look()).toMatchObject({ command: join(dir, 'docker') })
    anEngine({ context: 'exit 125' })
    expect(await look()).toMatchObject({ command: join(dir, 'docker') })
    expect(await look({ DOCKER_HOST: 'tcp://localhost:2375' })).toMatchObject({
      environment: { DOCKER_HOST: 'tcp://localhost:2375' },
    })
  })

  test('on another machine is not, since its ports are not reached from here', async () => {
    anEngine()
    expect(await look({ DOCKER_HOST: 'tcp://10.1.2.3:2376' })).toContain('on another machine (tcp://10.1.2.3:2376)')
    anEngine({ context: 'echo ssh://me@far.example' })
    expect(await look()).toContain('on another machine')
  })

  test('that cannot run what is packed here is not', async () => {
    anEngine({ info: `windows ${here}` })
    expect(await look()).toContain('k3s needs linux')
    anEngine({ info: 'linux riscv64' })
    expect(await look()).toContain('another architecture')
  })

  test('without its command is not, and the reason says so', async () => {
    expect(await look()).toBe('the docker command is not on the PATH')
  })
})
