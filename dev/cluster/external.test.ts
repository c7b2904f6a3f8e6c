import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { noReleaseHost } from '#test/support/releaseHost.ts'
import { useExternalCluster } from './external.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'orrery-external-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const aFile = (name: string, text = '', mode = 0o600): string => {
  const file = join(dir, name)
  writeFileSync(file, text)
  chmodSync(file, mode)
  return file
}
const use = (...files: string[]) =>
  useExternalCluster({
    stateDir: dir,
    logDir: dir,
    node: 'auto',
    progress: () => undefined,
    parts: [],
    env: {
      ...noReleaseHost,
      PATH: dir,
      XDG_CACHE_HOME: join(dir, 'cache'),
      KUBECONFIG: files.join(delimiter),
      ORRERY_DEFAULT_SERVER_IMAGE: 'registry.example/world-server:1',
      ORRERY_PUBLIC_URL: 'http://api.example:8080',
    },
  })

describe('KUBECONFIG', () => {
  test('may name missing files beside an existing one, as for kubectl', async () => {
    const file = aFile('one')
    expect(await use(join(dir, 'none'), file)).toMatchObject({ kubeconfig: file, kubectl: 'kubectl' })
  })

  test('with several files is merged into one that only its owner can read', async () => {
    aFile('kubectl', '#!/bin/sh\necho "$KUBECONFIG"\n', 0o755)
    const files = [aFile('one'), aFile('two')]
    const { kubeconfig } = await use(...files)
    expect(readFileSync(kubeconfig, 'utf8').trim()).toBe(files.join(delimiter))
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600)
  })

  test('with several files and no kubectl is an error that says what to do', async () => {
    await expect(use(aFile('one'), aFile('two'))).rejects.toThrow('name one file, or install kubectl')
  })

  test('that names no existing file is an error', async () => {
    await expect(use(join(dir, 'none'))).rejects.toThrow(`KUBECONFIG names ${join(dir, 'none')}, which does not exist`)
  })
})
