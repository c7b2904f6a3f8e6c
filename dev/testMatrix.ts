import { dirname } from 'node:path'
import { getContainerRuntimeClient } from 'testcontainers'
import { newestRelease, oldestRelease, resolveBinaries } from './kubernetes/binaries.ts'
import { localImages, postgresMajors, registryImages } from './matrix/images.ts'
import { summarize } from './testing/summary.ts'
import { runVitest } from './testing/vitest.ts'

// `npm run test:matrix [-- [--local] [subject…]]`: integration tests with each supported major version of Postgres, with an S3 server,
// and with the oldest and the newest Kubernetes. `--local` makes the images of the containers on this machine.
const limitMs = 20 * 60_000
const progress = (line: string): void => void process.stdout.write(`[matrix] ${line}\n`)
const isLocal = process.argv.includes('--local')
// The container that removes what a crash leaves behind has an image of a registry.
if (isLocal) process.env.TESTCONTAINERS_RYUK_DISABLED = 'true'
const images = isLocal ? localImages(progress) : registryImages
const names = process.argv.slice(2).filter((argument) => argument !== '--local')

/** The tests of roles, migrations, partitions, triggers, locks, plans of queries and notifications. */
const ofDatabase = [
  ...['audit', 'database', 'documentCounts', 'hotStatements', 'keyUsage', 'migrations', 'outbox', 'realtime/messages'],
  ...['rest.', 'sharedQueues', 'webhookQueue'],
]
/** The tests of definitions with rules in CEL, admission policies, roles, quotas, server-side apply and watches. */
const ofCluster = [
  ...['bot', 'closedNamespaces', 'clusterWords', 'conditions', 'derivedNames', 'doctor', 'grants', 'hiddenObjects'],
  ...['hostPortPolicy'],
  ...['kube', 'missingRights', 'olderDefinitions', 'operatorGrants', 'policies', 'ports', 'quotas', 'refusedPushes'],
  ...['resources', 'restore', 'roles', 'runningCapacity', 'selectors', 'settle', 'sharedAddress', 'specs', 'strangers'],
  ...['sync', 'waitingStarts', 'worlds'],
]

const subjects = [
  ...postgresMajors.map((major) => ({
    name: `postgres:${major}`,
    files: ofDatabase,
    environment: async () => ({ ORRERY_TEST_POSTGRES_IMAGE: await images.postgres(major) }),
  })),
  {
    name: 's3',
    files: ['objects'],
    environment: async () => ({ ORRERY_TEST_S3_IMAGE: await images.objectStore() }),
  },
  ...[oldestRelease, newestRelease].map((release) => ({
    name: `kubernetes:${release.version}`,
    files: ofCluster,
    environment: async () => {
      const env = { ...process.env, KUBEBUILDER_ASSETS: '' }
      const found = await resolveBinaries(['kube-apiserver'], { env, progress, release })
      return { KUBEBUILDER_ASSETS: dirname(found['kube-apiserver']) }
    },
  })),
]

const unknown = names.filter((name) => subjects.every((subject) => subject.name !== name))
if (unknown.length > 0) {
  throw new Error(
    `There is no subject ${unknown.join(', ')}. Choose from ${subjects.map(({ name }) => name).join(', ')}.`,
  )
}
const chosen = subjects.filter(({ name }) => names.length === 0 || names.includes(name))
if (chosen.some(({ name }) => !name.startsWith('kubernetes:'))) {
  await getContainerRuntimeClient().catch(() => {
    throw new Error(
      'No container engine answers. Start Docker, or set DOCKER_HOST to the socket of another engine. The subjects kubernetes:… need none.',
    )
  })
}
const table: string[] = []
for (const { name, files, environment } of chosen) {
  const startMs = performance.now()
  try {
    const args = ['--project', 'integration', ...files.map((file) => `test/integration/${file}`)]
    const results = await runVitest('integration', args, { env: await environment(), limitMs })
    const repeat = () => `npm run test:matrix -- ${isLocal ? '--local ' : ''}${name}`
    const lines = summarize(results, { times: [{ name, durationMs: performance.now() - startMs }], repeat })
    process.stdout.write(`${lines.join('\n')}\n`)
    table.push(`${name}: ${lines.at(-1)} in ${((performance.now() - startMs) / 60_000).toFixed(1)} minutes`)
    if (results.length === 0 || results.some(({ status }) => status === 'failed')) process.exitCode = 1
  } catch (error) {
    table.push(`${name}: not run: ${(error as Error).message}`)
    process.exitCode = 1
  }
}
process.stdout.write(`${table.join('\n')}\n`)
