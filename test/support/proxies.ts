import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { freePort } from '#dev/ports.ts'
import { type Service, startService } from '#dev/process.ts'
import { findProgram } from '#dev/programs.ts'
import { patience } from './wait.ts'

/** The proxies with an example in `examples/proxies`. */
export const proxyNames = ['haproxy', 'nginx', 'caddy'] as const

type ProxyName = (typeof proxyNames)[number]
type Command = { readonly command: string; readonly args: readonly string[]; readonly env?: Record<string, string> }

/** Starts a proxy with its example, in front of the API, on a free port. Resolves when a request reaches the API. */
export const startProxy = async (
  name: ProxyName,
  { apiUrl, dir, logDir }: { apiUrl: string; dir: string; logDir: string },
): Promise<Service & { readonly url: string }> => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const home = join(dir, name)
  mkdirSync(home, { recursive: true })
  const write = (file: string, text: string): string => {
    writeFileSync(join(home, file), text)
    return join(home, file)
  }
  const example = (file: string): string =>
    readFileSync(new URL(`../../examples/proxies/${file}`, import.meta.url), 'utf8')
      .replaceAll('orrery-api:8080', new URL(apiUrl).host)
      .replace(/(bind :|listen |^:)80\b/m, `$1${port}`)
  const service = await startService({
    name,
    ...(await commands[name]({ home, write, example })),
    logFile: join(logDir, `${name}.log`),
    ready: async (signal) => (await fetch(`${url}/readyz`, { signal })).ok,
    readyTimeoutMs: 30_000 * patience,
  })
  return { ...service, url }
}

type Files = {
  readonly home: string
  readonly write: (file: string, text: string) => string
  readonly example: (file: string) => string
}

const commands: Record<ProxyName, (files: Files) => Promise<Command>> = {
  haproxy: async ({ write, example }) => ({
    command: debian('haproxy'),
    args: ['-db', '-f', write('haproxy.cfg', example('haproxy.cfg'))],
  }),
  nginx: async ({ home, write, example }) => ({
    command: debian('nginx'),
    args: ['-p', home, '-c', write('main.conf', nginxMain(home, write('site.conf', example('nginx.conf'))))],
  }),
  caddy: async ({ home, write, example }) => ({
    command: await obtainGoProgram('caddy', {
      env: process.env,
      progress: (line) => process.stderr.write(`[caddy] ${line}\n`),
    }),
    args: [
      'run',
      '--adapter',
      'caddyfile',
      '--config',
      write('Caddyfile', `{\n\tadmin off\n}\n${example('Caddyfile')}`),
    ],
    env: { XDG_DATA_HOME: home, XDG_CONFIG_HOME: home },
  }),
}

const nginxMain = (home: string, site: string): string =>
  [
    'daemon off;',
    // The workers of root run as another account, which cannot read the folder of the test.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    `pid ${home}/nginx.pid;`,
    'error_log stderr;',
    'events {}',
    'http {',
    'access_log off;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${home}/${kind};`),
    `include ${site};`,
    '}',
  ].join('\n')

const debian = (name: string): string => {
  const command = findProgram(process.env, name)
  if (command === undefined) throw new Error(`This machine has no ${name}: apt-get install haproxy nginx-light`)
  return command
}
