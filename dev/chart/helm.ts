import { resolveGoProgram } from '#dev/goBuild.ts'
import { newestRelease } from '#dev/kubernetes/binaries.ts'
import type { Progress } from '#dev/progress.ts'

const version = '4.2.4'

/** Returns the path of Helm. The first call on a machine builds it, in about a minute; a machine without Go is an error. */
export const resolveHelm = (options: { env: NodeJS.ProcessEnv; progress: Progress }): Promise<string> =>
  resolveGoProgram({
    name: 'helm',
    version,
    goPackage: 'helm.sh/helm/v4/cmd/helm',
    moduleDir: newestRelease.moduleDir,
    ldflags: ['-s -w', `-X helm.sh/helm/v4/internal/version.version=v${version}`],
    versionArgs: ['version'],
    env: options.env,
    progress: options.progress,
    remark: 'once; about a minute',
  })
