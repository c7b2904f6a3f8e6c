import { execFileSync } from 'node:child_process'
import { join } from 'node:path'

const downloadTimeoutMs = 120_000

/**
 * Returns the folder of the standard definitions of Gateway API, in the version of the module of Traefik. Downloads them unless the
 * cache of Go has them.
 */
export const obtainGatewayDefinitions = (env: NodeJS.ProcessEnv): string => {
  const text = execFileSync('go', ['mod', 'download', '-json', 'sigs.k8s.io/gateway-api'], {
    cwd: import.meta.dirname,
    env,
    encoding: 'utf8',
    timeout: downloadTimeoutMs,
  })
  const { Dir } = JSON.parse(text) as { Dir: string }
  return join(Dir, 'config/crd/standard')
}
