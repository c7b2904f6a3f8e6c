import { isDeepStrictEqual } from 'node:util'
import type { ProcessUsers } from '#api/sync/namespaces/networkPolicies.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import { createClient } from '#shared/kube/client.ts'
import { isForbidden, isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import { customResourceDefinitions } from '#shared/resources/crds.ts'
import { definitionProblem } from '#shared/resources/definitionVersions.ts'
import { definitionResource, versionAnnotation } from '#shared/resources/group.ts'
import {
  bindingResource as bindings,
  policyResource as policies,
  toCelIntervals,
} from '#shared/resources/hostPortPolicy.ts'
import { productVersion } from '#shared/version.ts'
import manifests from './admissionPolicies.json' with { type: 'json' }
import type { DiagnosedManifest, Snapshot } from './diagnosis.ts'

type Manifest = KubeObject & { readonly spec: object }

/** The cluster, and the configuration that the admission policies name. */
type Deps = {
  readonly transport: Transport
  readonly namespacePrefix: string
  readonly settings: { readonly clusterUsers: ProcessUsers; readonly hostPorts: HostPorts }
}

/** Compares the definitions of the resources with those of this version. */
export const readDefinitions = async ({ transport }: Deps): Promise<DiagnosedManifest[]> => {
  const client = createClient<Manifest>(transport, definitionResource)
  return Promise.all(
    Object.values(customResourceDefinitions() as unknown as Record<string, Manifest>).map(async (desired) => {
      const { name } = desired.metadata
      const found = { kind: definitionResource.kind, name }
      try {
        const { metadata, spec } = await client.get({ name })
        const problem = definitionProblem(name, metadata.annotations?.[versionAnnotation], productVersion)
        if (problem !== undefined) return { ...found, problem: problem.message, fields: [] }
        return { ...found, fields: findManifestDifferences(desired.spec, spec) }
      } catch (error) {
        if (!isNotFound(error)) throw error
        return { ...found, isMissing: true, fields: [] }
      }
    }),
  )
}

/**
 * Compares the admission policies and their bindings with those of this version, or returns `none` if none is installed. Undefined
 * without the right to read them, which the API's own account does not have.
 */
export const readAdmission = async (deps: Deps): Promise<Snapshot['admission']> => {
  try {
    const live = new Map<string, Manifest>()
    for (const resource of [policies, bindings]) {
      const { items } = await createClient<Manifest>(deps.transport, resource).list()
      for (const each of items) live.set(`${resource.kind} ${each.metadata.name}`, each)
    }
    const compared = fillIn(deps).map(({ kind, metadata: { name }, spec }) => {
      const present = live.get(`${kind} ${name}`)
      return present === undefined
        ? { kind, name, isMissing: true, fields: [] }
        : { kind, name, fields: findManifestDifferences(spec, present.spec) }
    })
    return compared.every(({ isMissing }) => isMissing) ? 'none' : compared
  } catch (error) {
    if (!isForbidden(error)) throw error
    return undefined
  }
}

/** Returns the manifests with the users, the prefix and the host ports of the configuration. The groups of restore tools are not in it. */
const fillIn = ({ namespacePrefix, settings: { clusterUsers, hostPorts } }: Deps): Manifest[] => {
  const users = { apiUser: clusterUsers.api, operatorUser: clusterUsers.operator }
  const values = { ...users, namespacePrefix, hostPorts: toCelIntervals(hostPorts) }
  const text = Object.entries(values).reduce(
    (filled, [name, value]) => filled.replaceAll(['$', '{', name, '}'].join(''), value),
    JSON.stringify(manifests),
  )
  return JSON.parse(text) as Manifest[]
}

/** Values that the API server writes where a manifest has none, by the name of the field. */
const serverDefaults: Readonly<Record<string, unknown>> = {
  conversion: { strategy: 'None' },
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  scope: '*',
}

/** A placeholder of the manifests whose value only the installation knows: a CEL list of texts. */
const unknownList = ['$', '{', 'restoreGroups', '}'].join('')
const listPattern = /^\[('[^']*'(, ?'[^']*')*)?\]$/

/** The most fields that are returned for one object. */
const maxFields = 5

/** Returns the JSON Pointers of fields in which a live object differs from its manifest, at most 5. */
export const findManifestDifferences = (desired: unknown, live: unknown): string[] =>
  differences(desired, live, '').slice(0, maxFields)

const differences = (desired: unknown, live: unknown, pointer: string): string[] => {
  if (Array.isArray(desired) && Array.isArray(live) && desired.length === live.length) {
    return desired.flatMap((each, at) => differences(each, live[at], `${pointer}/${at}`))
  }
  if (isRecord(desired) && isRecord(live)) {
    return [...new Set([...Object.keys(desired), ...Object.keys(live)])].sort().flatMap((name) => {
      if (!(name in desired) && isDeepStrictEqual(live[name], serverDefaults[name])) return []
      return differences(desired[name], live[name], `${pointer}/${name}`)
    })
  }
  return isEqualValue(desired, live) ? [] : [pointer]
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isEqualValue = (desired: unknown, live: unknown): boolean => {
  if (typeof desired !== 'string' || typeof live !== 'string') return isDeepStrictEqual(desired, live)
  const [before, after] = desired.split(unknownList)
  if (before === undefined || after === undefined) return desired === live
  const list = live.slice(before.length, live.length - after.length)
  return live.startsWith(before) && live.endsWith(after) && listPattern.test(list)
}
