import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { apiRoleUrl, inSession } from '#dev/postgres.ts'
import { until } from '#dev/until.ts'
import type { PreviousVersion } from '#dev/versions/previous.ts'
import { definitionName, kindList } from '#shared/resources/group.ts'
import { type Images, imageValues } from './images.ts'
import { startLoad } from './load.ts'
import { createLogs } from './logs.ts'
import { type Machine, namespace, startProductionDatabase, startProductionObjectStore } from './machine.ts'
import { expectOwnsNothing } from './roles.ts'
import { platformKey, startWorlds } from './worlds.ts'

const project = fileURLToPath(new URL('../..', import.meta.url))
const chart = join(project, 'charts/orrery')
const worldCount = 20
const socketCount = 40
/** The time that a failing installation is given, since its pods cannot start. */
const failingTimeout = '15s'
const wait = ['--wait', '--timeout', '4m']
/** The time within which a new service must answer. */
const serviceTimeoutMs = 15_000
const secretNames = { database: 'database', s3: 's3' }

type Options = {
  readonly current: Images
  readonly previous: PreviousVersion
  readonly previousImages: Images
  readonly say: (line: string) => void
}

/**
 * Follows a production installation through its life: a failed installation that is repeated, the upgrade from the previous
 * version and the rollback under load, the removal, and a second installation that finds everything again.
 */
export const followProduction = async (machine: Machine, options: Options): Promise<void> => {
  const { kubectl, helm, say } = { ...machine, ...options }
  const database = await startProductionDatabase(machine)
  const store = await startProductionObjectStore(machine)
  const logs = createLogs(machine)
  const valuesOf = (images: Images, name: string): string[] => {
    const file = join(machine.stateDir, `${name}.yaml`)
    writeFileSync(file, stringify(productionValues(images, store)))
    return ['--values', file]
  }
  const before = [lowerChart(machine, options.previous), ...valuesOf(options.previousImages, 'previous')]
  const after = [chart, ...valuesOf(options.current, 'current')]

  await kubectl('create', 'namespace', namespace)
  await kubectl('label', 'namespace', namespace, 'pod-security.kubernetes.io/enforce=restricted')
  await failToInstall(machine, before)
  say('helm install without a Secret failed, and the events name the Secret')
  const { accessKeyId, secretAccessKey } = store.credentials
  await createSecret(machine, secretNames.database, {
    url: database.apiUrl,
    owner: database.ownerUrl,
    wrong: withWrongPassword(database.ownerUrl),
  })
  await createSecret(machine, secretNames.s3, {
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  })
  await helm('upgrade', '--install', 'orrery', ...before, ...wait)
  say(`the same installation of ${options.previous.commit} succeeded with the Secret`)
  const installedRevision = await revision(machine)

  const apiUrl = await serviceUrl(machine)
  const apiKey = await platformKey(machine)
  const worlds = await startWorlds(machine, { apiUrl, apiKey, count: worldCount })
  const servers = await worlds.servers()
  say(`${worldCount} worlds are Active`)
  const expectSame = async (after: string): Promise<void> => {
    const now = await worlds.servers()
    if (now !== servers) throw new Error(`The servers changed after ${after}:\n${servers}\nare now\n${now}`)
  }
  const paths = ['/api/worlds/?limit=100', ...worlds.ids.map((id) => `/api/worlds/${id}/`)]
  const underLoad = async (
    what: string,
    change: () => Promise<unknown>,
    { replacesApi }: { replacesApi: boolean } = { replacesApi: true },
  ): Promise<void> => {
    const worldPath = `/api/worlds/${worlds.ids[0]}/`
    const load = await startLoad({ apiUrl, headers: worlds.headers, paths, worldPath, sockets: socketCount })
    await logs.collect()
    const replaced = await apiPods(machine)
    await change()
    if (replacesApi) {
      // Helm waits for the new pods only. The old ones close their connections after that.
      await kubectl('wait', '--for=delete', '--timeout=90s', '-n', namespace, ...replaced)
      await load.untilReconnected()
    }
    const open = load.openSockets()
    const { requests, faults, reconnects } = await load.stop()
    await expectSame(what)
    if (faults.length > 0) throw new Error(`${what}: of ${requests} requests some failed:\n${faults.join('\n')}`)
    if (open !== socketCount || reconnects < socketCount === replacesApi) {
      throw new Error(`${what}: ${open} of ${socketCount} connections are open after ${reconnects} reconnects.`)
    }
    say(
      `${what}: ${requests} requests without a failure, ${reconnects} reconnects, the servers of all worlds are the same`,
    )
  }
  const wrongOwner = ['--set', 'database.owner.key=wrong']
  await underLoad('a helm upgrade that fails', () => failToUpgrade(machine, [...after, ...wrongOwner]), {
    replacesApi: false,
  })
  await underLoad('the same helm upgrade, mended', () => helm('upgrade', 'orrery', ...after, ...wait))
  await expectOwnsNothing(apiRoleUrl(database.localUrl))
  await helm('test', 'orrery', '--timeout', '3m')
  say('the role of the API owns nothing, and helm test passed')
  await runTour(machine, { apiUrl, apiKey })
  say('the tour of the README works')
  await underLoad('helm rollback', () => helm('rollback', 'orrery', installedRevision, ...wait))

  const rows = await countWorlds(database.localUrl)
  await logs.collect()
  await helm('uninstall', 'orrery', '--wait')
  await expectKept(machine, database.localUrl, rows)
  await expectSame('helm uninstall')
  say(`helm uninstall: the definitions, ${rows} rows, the keys and the servers are kept`)
  await helm('install', 'orrery', ...after, ...wait)
  // The service has a new address.
  await worlds.untilActive(await serviceUrl(machine))
  await expectSame('the second helm install')
  await helm('test', 'orrery', '--timeout', '3m')
  say('a second helm install: all worlds are Active with the same servers, and helm test passes')
  await logs.collect()
  const refused = logs.refusals()
  if (refused.length > 0) throw new Error(`A log has a refusal of the API server: ${refused[0]}`)
  say('no log has a refusal of the API server')
}

const withWrongPassword = (url: string): string => {
  const wrong = new URL(url)
  wrong.password = 'wrong'
  return wrong.href
}

/** Installs without a Secret, and checks that the events name it. */
const failToInstall = async ({ kubectl, helm }: Machine, args: readonly string[]): Promise<void> => {
  const refusal = await helm('install', 'orrery', ...args, '--wait', '--timeout', failingTimeout).catch(String)
  const events = await kubectl('get', 'events', '-n', namespace, '-o', 'jsonpath={.items[*].message}')
  if (!events.includes('secret "database" not found')) throw new Error(`No event names the missing Secret: ${refusal}`)
}

/** Upgrades with values whose migration fails, and checks that the message of its pod says why and what to do. */
const failToUpgrade = async ({ kubectl, helm }: Machine, args: readonly string[]): Promise<void> => {
  const upgraded = await helm('upgrade', 'orrery', ...args, '--wait', '--timeout', failingTimeout).then(
    () => true,
    () => false,
  )
  if (upgraded) throw new Error('The upgrade with a wrong password of the owner succeeded.')
  const selector = ['-l', 'app.kubernetes.io/name=orrery-api']
  const states = '{.items[*].status.initContainerStatuses[*].lastState.terminated.message}'
  const message = await kubectl('get', 'pods', '-n', namespace, ...selector, '-o', `jsonpath=${states}`)
  const expected = 'The database of ORRERY_DATABASE_OWNER_URL cannot be used: password authentication failed'
  if (!message.includes(expected)) throw new Error(`The pod does not say why it failed: ${message}`)
}

const existing = (secret: string, key?: string) => ({ existingSecret: secret, ...(key && { key }) })

const productionValues = (images: Images, store: { bucket: string; endpoint: string }): object => ({
  ...imageValues(images),
  database: {
    mode: 'external',
    external: existing(secretNames.database, 'url'),
    owner: existing(secretNames.database, 'owner'),
  },
  objectStore: {
    type: 's3',
    s3: { bucket: store.bucket, endpoint: store.endpoint, region: 'us-east-1', ...existing(secretNames.s3) },
  },
})

/** Copies the chart of the previous version, with a lower version than that of this one. */
const lowerChart = ({ stateDir }: Machine, previous: PreviousVersion): string => {
  const copy = join(stateDir, 'previous-chart')
  cpSync(join(previous.dir, 'charts/orrery'), copy, { recursive: true })
  const file = join(copy, 'Chart.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^version: .*$/m, 'version: 0.0.1'))
  return copy
}

const createSecret = ({ kubectl }: Machine, name: string, content: Record<string, string>): Promise<string> => {
  const literals = Object.entries(content).map(([key, value]) => `--from-literal=${key}=${value}`)
  return kubectl('create', 'secret', 'generic', name, '-n', namespace, ...literals)
}

/**
 * Returns the URL of the API's service when it answers. kube-proxy refuses connections to a new address for a moment after the
 * pods are Ready, until it has written its rules.
 */
const serviceUrl = async ({ kubectl }: Machine): Promise<string> => {
  const address = ['-o', 'jsonpath={.spec.clusterIP}']
  const url = `http://${await kubectl('get', 'service', 'orrery-api', '-n', namespace, ...address)}:8080`
  const isReady = async () => (await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok || undefined
  await until(`an answer of ${url}`, isReady, serviceTimeoutMs)
  return url
}

/** Returns the API's pods as arguments of kubectl. */
const apiPods = async ({ kubectl }: Machine): Promise<string[]> => {
  const selector = ['-l', 'app.kubernetes.io/name=orrery-api']
  return (await kubectl('get', 'pods', '-n', namespace, ...selector, '-o', 'name')).trim().split('\n')
}

const revision = async ({ helm }: Machine): Promise<string> => {
  const history = JSON.parse(await helm('history', 'orrery', '--output', 'json')) as { revision: number }[]
  return String(history.at(-1)?.revision)
}

/** Runs the commands of the README, which read the file of a stack. */
const runTour = async ({ stateDir, cluster, bash }: Machine, of: { apiUrl: string; apiKey: string }): Promise<void> => {
  const tour = /<!-- tour -->\n```bash\n([\s\S]*?)```/.exec(readFileSync(join(project, 'README.md'), 'utf8'))?.[1] ?? ''
  const { kubeconfig } = cluster
  const stack = { apiUrl: of.apiUrl, rootApiKey: of.apiKey, kubectl: cluster.kubectl, kubeconfig }
  writeFileSync(join(stateDir, 'stack.json'), JSON.stringify(stack), { mode: 0o600 })
  const said = await bash(tour, { ORRERY_STATE_DIR: stateDir })
  if (!/Lobby +Active/.test(said)) throw new Error(`The tour showed no Active world:\n${said}`)
}

const countWorlds = (url: string): Promise<number> =>
  inSession(url, async (sql) => Number((await sql.query('select count(*) from worlds')).rows[0]?.count))

const expectKept = async ({ kubectl }: Machine, databaseUrl: string, rows: number): Promise<void> => {
  const kept = await kubectl('get', 'crd,secret', '-n', namespace, '-o', 'name')
  for (const name of [...kindList.map(definitionName), 'secret/orrery-keys']) {
    if (!kept.includes(name)) throw new Error(`helm uninstall removed ${name}.`)
  }
  const left = await countWorlds(databaseUrl)
  if (left !== rows) throw new Error(`helm uninstall changed the ${rows} rows to ${left}.`)
}
