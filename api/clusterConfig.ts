import { readFileSync } from 'node:fs'
import * as z from 'zod'
import { computeGroups, computeRegions } from '#shared/enumerations.ts'
import { logKey, type Rule, readSettings, type Settings, type SettingTable, url } from '#shared/environment.ts'
import { namePatterns } from '#shared/kube/names.ts'
import { logAudience } from '#shared/logs/ticket.ts'
import type { LogSourceSettings } from './platform/logs/replicas.ts'
import { jsonFile } from './variables.ts'

/** A cluster, the places that it serves, and the ways to its API server and its operator. */
export type Cluster = {
  readonly name: string
  /** The groups and regions of compute whose worlds go to the cluster. */
  readonly places: readonly { readonly group: string; readonly region: string }[]
  /** The path of the kubeconfig; undefined for `KUBECONFIG` or the service account of the pod. */
  readonly kubeconfig: string | undefined
  /** The log server of the cluster's operator; undefined if logs are not offered. */
  readonly logs: LogSourceSettings | undefined
}

/** The most clusters of one installation. Each has its own connections and caches. */
const maxClusters = 32

const place = z.strictObject({ group: z.enum(computeGroups), region: z.enum(computeRegions) })
/** A cluster in the file of clusters. */
export const clusterSchema = z.strictObject({
  name: z
    .string()
    .max(63)
    .regex(new RegExp(namePatterns.dnsLabel), 'must have at most 63 characters of a-z, 0-9 and -'),
  places: z.array(place),
  kubeconfig: z.string().min(1).optional(),
  operatorUrl: url('http', 'https').optional(),
  operatorCaFile: z.string().min(1).optional(),
  logsKeyFile: z.string().min(1).optional(),
})
type ListedCluster = z.output<typeof clusterSchema>

const clustersSchema = z
  .tuple([clusterSchema], clusterSchema)
  .superRefine((clusters, context) => {
    for (const message of findFaults(clusters)) context.addIssue({ code: 'custom', message })
  })
  .describe('[{"name": "default", "places": [{"group": "production", "region": "Europe"}]}]')

/** Returns the faults of a list of clusters, as ends of sentences. */
const findFaults = (clusters: readonly ListedCluster[]): string[] => {
  const repeated = (values: readonly string[]) => [...new Set(values.filter((each, at) => values.indexOf(each) !== at))]
  const served = clusters.flatMap(({ places }) => [
    ...new Set(places.map(({ group, region }) => `${group} in ${region}`)),
  ])
  const withoutKubeconfig = clusters.filter(({ kubeconfig }) => kubeconfig === undefined)
  return [
    ...(clusters.length > maxClusters ? [`lists more than ${maxClusters} clusters`] : []),
    ...(served.length === 0 ? ['serves no place'] : []),
    ...repeated(clusters.map(({ name }) => name)).map((name) => `lists the cluster ${name} twice`),
    ...repeated(served).map((each) => `lists the place ${each} for two clusters`),
    ...repeated(clusters.flatMap(({ kubeconfig }) => kubeconfig ?? [])).map(
      (path) => `has two clusters with the kubeconfig ${path}`,
    ),
    ...(withoutKubeconfig.length > 1
      ? [`has ${withoutKubeconfig.length} clusters without a kubeconfig; one may connect as the process itself`]
      : []),
    ...clusters.flatMap(({ name, kubeconfig, operatorUrl, logsKeyFile }) => [
      ...((operatorUrl === undefined) === (logsKeyFile === undefined)
        ? []
        : [`must set operatorUrl and logsKeyFile of the cluster ${name} together`]),
      ...(operatorUrl !== undefined && kubeconfig === undefined
        ? [`sets operatorUrl of the cluster ${name}, which has no kubeconfig; set ORRERY_OPERATOR_URL`]
        : []),
    ]),
  ]
}

const everyPlace = computeGroups.flatMap((group) => computeRegions.map((region) => ({ group, region })))

/** The settings that name the clusters and their operators. */
export const clusterSettings = {
  listed: ['ORRERY_CLUSTERS_FILE', jsonFile(clustersSchema).default([{ name: 'default', places: everyPlace }])],
  operatorUrl: ['ORRERY_OPERATOR_URL', url('http', 'https').optional()],
  operatorCaFile: ['ORRERY_OPERATOR_CA_FILE', z.string().optional()],
  logsKey: ['ORRERY_LOGS_KEY', logKey().optional()],
} as const satisfies SettingTable

/** The operator accepts only tickets that are signed with its key. */
export const requireLogKey: Rule = (given) =>
  given.ORRERY_OPERATOR_URL !== undefined && given.ORRERY_LOGS_KEY === undefined
    ? [['ORRERY_LOGS_KEY', 'is missing: ORRERY_OPERATOR_URL needs the key of the operator']]
    : []

type ClusterSettings = Settings<typeof clusterSettings>

/** Returns the clusters of the file. The variables of the operator are for the one without a kubeconfig. */
export const toClusters = (settings: ClusterSettings): readonly [Cluster, ...Cluster[]] => {
  const [first, ...others] = settings.listed
  const toCluster = (listed: ListedCluster): Cluster => {
    const { name, places, kubeconfig } = listed
    return { name, places, kubeconfig, logs: kubeconfig === undefined ? ownLogs(settings, name) : listedLogs(listed) }
  }
  return [toCluster(first), ...others.map(toCluster)]
}

const ownLogs = (
  { operatorUrl, operatorCaFile, logsKey }: ClusterSettings,
  cluster: string,
): LogSourceSettings | undefined =>
  operatorUrl === undefined || logsKey === undefined
    ? undefined
    : { url: operatorUrl, caFile: operatorCaFile, key: logsKey, audience: logAudience(cluster) }

const listedLogs = ({
  name,
  operatorUrl,
  operatorCaFile,
  logsKeyFile,
}: ListedCluster): LogSourceSettings | undefined =>
  operatorUrl === undefined || logsKeyFile === undefined
    ? undefined
    : { url: operatorUrl, caFile: operatorCaFile, key: readLogsKey(name, logsKeyFile), audience: logAudience(name) }

const readLogsKey = (cluster: string, file: string): string => {
  const key = logKey().safeParse(readText(cluster, file).replace(/[\r\n]+$/, ''))
  if (key.success) return key.data
  throw new Error(`The logsKeyFile ${file} of the cluster ${cluster} must have at least 32 characters.`)
}

const readText = (cluster: string, file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`The logsKeyFile ${file} of the cluster ${cluster} cannot be read.`, { cause })
  }
}

/** Reads only the clusters from the environment and their file. Throws an Error that lists the faults. */
export const readClusters = (env: NodeJS.ProcessEnv): readonly Cluster[] =>
  toClusters(readSettings(clusterSettings, env, [requireLogKey]))
