import { fileURLToPath } from 'node:url'
import { type PinnedProgram, resolveGoProgram } from './goBuild.ts'
import { newestRelease } from './kubernetes/binaries.ts'
import type { Progress } from './progress.ts'

const folder = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

const programs = {
  helm: {
    version: '4.2.4',
    goPackage: 'helm.sh/helm/v4/cmd/helm',
    moduleDir: newestRelease.moduleDir,
    variables: ['helm.sh/helm/v4/internal/version.version=v4.2.4'],
    versionArgs: ['version'],
    remark: 'once; about a minute',
  },
  /** Checks and tests rules of Prometheus. */
  promtool: {
    version: '3.15.0',
    goPackage: 'github.com/prometheus/prometheus/cmd/promtool',
    moduleDir: folder('prometheus'),
    variables: ['github.com/prometheus/common/version.Version=3.15.0'],
    // Without the service discoveries, whose clients of clouds are most of the program.
    tags: ['remove_all_sd'],
    versionArgs: ['--version'],
    remark: 'once; about 5 minutes',
  },
  /** A proxy. */
  caddy: {
    version: '2.11.9',
    goPackage: 'github.com/caddyserver/caddy/v2/cmd/caddy',
    moduleDir: folder('proxy'),
    versionArgs: ['version'],
    remark: 'once; about 4 minutes',
  },
  /** A controller of Gateways, with its proxy. */
  traefik: {
    version: '3.6.12',
    goPackage: 'github.com/traefik/traefik/v3/cmd/traefik',
    moduleDir: folder('gateway'),
    variables: ['github.com/traefik/traefik/v3/pkg/version.Version=3.6.12'],
    versionArgs: ['version'],
    remark: 'once; about 7 minutes',
  },
  /** An S3 server. */
  versitygw: {
    version: '1.8.0',
    goPackage: 'github.com/versity/versitygw/cmd/versitygw',
    moduleDir: folder('s3'),
    variables: ['main.Version=v1.8.0'],
    versionArgs: ['--version'],
    remark: 'once; about 2 minutes',
  },
  coredns: {
    version: '1.14.7',
    goPackage: '.',
    moduleDir: folder('dns'),
    versionArgs: ['-version'],
    remark: 'once; about 3 minutes',
  },
} satisfies Record<string, Omit<PinnedProgram, 'name' | 'env' | 'progress'>>

/** Returns the path of a program. The first call on a machine builds it; a machine without Go is an error. */
export const obtainGoProgram = (
  name: keyof typeof programs,
  { env, progress }: { env: NodeJS.ProcessEnv; progress: Progress },
): Promise<string> => resolveGoProgram({ name, env, progress, ...programs[name] })
