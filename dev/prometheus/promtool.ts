import { fileURLToPath } from 'node:url'
import { resolveGoProgram } from '#dev/goBuild.ts'
import type { Progress } from '#dev/progress.ts'

const version = '3.15.0'
const moduleDir = fileURLToPath(new URL('.', import.meta.url))

/**
 * Returns the path of promtool, which checks and tests rules of Prometheus. The first call on a machine builds it, in
 * about 5 minutes; a machine without Go is an error.
 */
export const resolvePromtool = (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<string> =>
  resolveGoProgram({
    name: 'promtool',
    version,
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    moduleDir,
    ldflags: ['-s -w', `-X github.com/prometheus/common/version.Version=${version}`],
    // Without the service discoveries, whose clients of clouds are most of the program.
    tags: ['remove_all_sd'],
    versionArgs: ['--version'],
    env: options.env,
    progress: options.progress,
    remark: 'once; about 5 minutes',
  })
