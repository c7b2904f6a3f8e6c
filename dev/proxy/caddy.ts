import { fileURLToPath } from 'node:url'
import { resolveGoProgram } from '#dev/goBuild.ts'
import type { Progress } from '#dev/progress.ts'

/** Returns the path of the proxy Caddy. The first call on a machine builds it; a machine without Go is an error. */
export const resolveCaddy = (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<string> =>
  resolveGoProgram({
    name: 'caddy',
    version: '2.11.9',
    goPackage: 'github.com/caddyserver/caddy/v2/cmd/caddy',
    moduleDir: fileURLToPath(new URL('.', import.meta.url)),
    ldflags: ['-s -w'],
    versionArgs: ['version'],
    env: options.env,
    progress: options.progress,
    remark: 'once; about 4 minutes',
  })
