import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAllDocuments, stringify } from 'yaml'
import { obtainGoProgram } from '#dev/goPrograms.ts'
import { getServers } from './servers.ts'

const chart = fileURLToPath(new URL('../../charts/orrery', import.meta.url))

/** A release to render: its name, its namespace, which was made, and its values. */
export type Release = { readonly name: string; readonly namespace: string; readonly values: object }

/** The outcome for a release. A broken one is neither refused with a reason nor accepted by the API server. */
export type Outcome = {
  readonly is: 'refused by the schema' | 'refused by a rule' | 'accepted' | 'broken'
  readonly message: string
}

type Ended = { readonly isGood: boolean; readonly stdout: string; readonly stderr: string }
const run = (command: string, args: readonly string[], input = ''): Promise<Ended> =>
  new Promise((resolve) => {
    const options = { timeout: 120_000, maxBuffer: 2 ** 26 }
    const child = execFile(command, args, options, (error, stdout, stderr) =>
      resolve({ isGood: error === null, stdout, stderr }),
    )
    child.stdin?.end(input)
  })

/** Kinds of other projects, which a plain cluster does not have; any spec fits. */
const foreign = [
  ['postgresql.cnpg.io', 'v1', 'clusters', 'Cluster'],
  ['gateway.networking.k8s.io', 'v1', 'httproutes', 'HTTPRoute'],
  ['monitoring.coreos.com', 'v1', 'servicemonitors', 'ServiceMonitor'],
  ['monitoring.coreos.com', 'v1', 'prometheusrules', 'PrometheusRule'],
  ['argoproj.io', 'v1alpha1', 'applications', 'Application'],
  ['source.toolkit.fluxcd.io', 'v1', 'gitrepositories', 'GitRepository'],
  ['helm.toolkit.fluxcd.io', 'v2', 'helmreleases', 'HelmRelease'],
] as const
const definitionOf = ([group, version, plural, kind]: (typeof foreign)[number]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: `${plural}.${group}`,
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/2466' },
  },
  spec: {
    group,
    scope: 'Namespaced',
    names: { plural, kind },
    versions: [
      {
        name: version,
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
})

/** Makes namespaces on the API server of this test, and definitions of the kinds of other projects that the chart can make. */
export const prepareCluster = async (namespaces: readonly object[]): Promise<void> => {
  const { kubectl, adminKubeconfig } = getServers()
  const definitions = foreign.map(definitionOf)
  const kinds = definitions.map(({ metadata }) => `crd/${metadata.name}`)
  const manifests = [...namespaces, ...definitions].map((each) => stringify(each)).join('---\n')
  for (const [args, input] of [
    [['apply', '-f', '-'], manifests],
    [['wait', '--for=condition=Established', '--timeout=60s', ...kinds], ''],
  ] as const) {
    const { isGood, stderr } = await run(kubectl, ['--kubeconfig', adminKubeconfig, ...args], input)
    if (!isGood) throw new Error(stderr)
  }
}

/**
 * Makes namespaces, and returns a function that renders a release with Helm and sends its objects to the API server of this
 * test, as a dry run with server-side apply. Objects that were accepted before are not sent again.
 */
export const prepareReleases = async (
  namespaces: readonly string[],
): Promise<(release: Release) => Promise<Outcome>> => {
  await prepareCluster(namespaces.map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })))
  const helm = await obtainGoProgram('helm', {
    env: process.env,
    progress: (line) => void process.stderr.write(`[chart] ${line}\n`),
  })
  const { kubectl, adminKubeconfig } = getServers()
  const dir = mkdtempSync(join(tmpdir(), 'orrery-values-'))
  const accepted = new Set<string>()
  let made = 0
  return async ({ name, namespace, values }) => {
    made += 1
    const file = join(dir, `${made}.yaml`)
    // JSON, since Helm reads `no` and `y` in YAML as booleans.
    writeFileSync(file, JSON.stringify(values))
    const rendered = await run(helm, ['template', name, chart, '--namespace', namespace, '--values', file])
    if (!rendered.isGood) return toRefusal(rendered.stderr)
    const faults = parseAllDocuments(rendered.stdout).flatMap(({ errors }) => errors)
    if (faults.length > 0) return { is: 'broken', message: faults.join('; ') }
    // The text, since Kubernetes reads numbers as YAML 1.1 does.
    const fresh = rendered.stdout
      .split(/^---$/m)
      .filter((text) => /^kind:/m.test(text) && !accepted.has(namespace + text))
    if (fresh.length === 0) return { is: 'accepted', message: '' }
    const args = ['--kubeconfig', adminKubeconfig, 'apply', '--server-side', '--dry-run=server', '--force-conflicts']
    const sent = await run(kubectl, [...args, '--validate=strict', '-f', '-'], fresh.join('---'))
    if (!sent.isGood) return { is: 'broken', message: sent.stderr }
    for (const text of fresh) accepted.add(namespace + text)
    return { is: 'accepted', message: '' }
  }
}

const toRefusal = (message: string): Outcome => {
  if (message.includes("values don't meet the specifications of the schema"))
    return { is: 'refused by the schema', message }
  const isRule = /execution error at \(orrery\/templates\//.test(message)
  return { is: isRule ? 'refused by a rule' : 'broken', message }
}
