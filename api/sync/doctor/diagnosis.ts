import { isDeepStrictEqual } from 'node:util'
import type { Kind, OrganizationState } from '#api/sync/rows/synced.ts'
import { runningPhases, unusedPhases } from '#shared/domain/phases.ts'
import { kinds } from '#shared/resources/group.ts'
import { hostPortPolicy } from '#shared/resources/hostPortPolicy.ts'

/** A row, as far as a diagnosis compares it. */
export type DiagnosedRow = {
  readonly kind: Kind
  readonly id: string
  readonly namespace: string
  readonly resourceName: string
  readonly resourceUid: string | null
  readonly revision: number
  /** The spec that the row wants, with its revision. */
  readonly spec: Readonly<Record<string, unknown>>
  readonly phase: string
  readonly isDeleting: boolean
  /** The row was removed with its resource and can be restored. */
  readonly isRemoved: boolean
  /** The seconds for which a push has been pending, or undefined if none is. */
  readonly dirtySeconds: number | undefined
  /** The lowest revision whose status counts. */
  readonly runRevision: number
}

/** A World or BotDeployment, as far as a diagnosis compares it. */
export type DiagnosedResource = {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly uid: string
  readonly spec: Readonly<Record<string, unknown>>
  readonly phase: string | undefined
  readonly observedRevision: number
  readonly isDeleting: boolean
  /** The API made it, or has had a row for it. */
  readonly hasMarks: boolean
  /** The other cluster that its row belongs to, if it does. */
  readonly rowCluster?: string
}

/** A pod of a server or bot, with the name of its resource. */
export type DiagnosedPod = {
  readonly kind: Kind
  readonly namespace: string
  readonly name: string
  readonly resourceName: string
  readonly hasEnded: boolean
}

/** The namespace of an organization of the database, or one with the label of an organization. */
export type DiagnosedNamespace = {
  readonly name: string
  readonly organizationId: string
  /** The state of its organization in the database. */
  readonly owner: OrganizationState
  readonly exists: boolean
  readonly isDeleting: boolean
  /** Differences of it and of the objects that the API keeps there, such as `NetworkPolicy default-deny is missing`. */
  readonly faults: readonly string[]
  /** The reason why its organization gets no host ports, as the end of a sentence. */
  readonly hostPortProblem?: string
}

/** A definition, admission policy or binding, compared with the manifest of this version. */
export type DiagnosedManifest = {
  readonly kind: string
  readonly name: string
  readonly isMissing?: boolean
  /** The reason why it was not compared: it is of another version. */
  readonly problem?: string
  /** The JSON Pointers in its spec of some fields that differ. */
  readonly fields: readonly string[]
}

/**
 * Everything that a diagnosis compares. `pods` and `admission` are undefined if they could not be read. `admission` is `none` if an
 * administrator turned the policies off.
 */
export type Snapshot = {
  readonly rows: readonly DiagnosedRow[]
  readonly resources: readonly DiagnosedResource[]
  readonly pods: readonly DiagnosedPod[] | undefined
  readonly namespaces: readonly DiagnosedNamespace[]
  readonly definitions: readonly DiagnosedManifest[]
  readonly admission: readonly DiagnosedManifest[] | 'none' | undefined
}

/** The dirty mark that resolves a difference: the row or organization is pushed again. */
export type Fix = { readonly kind: Kind | 'organization'; readonly id: string; readonly revision: number }

/** A difference, in a sentence that says what differs and what to do. */
export type Difference = { readonly subject: string; readonly text: string; readonly fix?: Fix }

/** A push that is pending for longer counts as a difference. */
const slowPushSeconds = 60
const isOneOf = (phases: readonly string[], phase: string): boolean => phases.includes(phase)

/**
 * Returns the differences between rows, resources, pods and namespaces. Namespaces without an organization come last, because there may
 * be many.
 */
export const diagnose = (snapshot: Snapshot): Difference[] => {
  const resources = new Map(snapshot.resources.map((each) => [keyOf(each.kind, each.namespace, each.name), each]))
  const rows = new Map(snapshot.rows.map((each) => [keyOf(each.kind, each.namespace, each.resourceName), each]))
  const manifests = [...snapshot.definitions, ...(Array.isArray(snapshot.admission) ? snapshot.admission : [])]
  const owners = new Map(snapshot.namespaces.map(({ name, owner }) => [name, owner]))
  const ofNamespaces = (isUnknown: boolean): Difference[] =>
    snapshot.namespaces
      .filter(({ owner }) => (owner === 'unknown') === isUnknown)
      .flatMap((namespace) => diagnoseNamespace(namespace, snapshot.rows))
  return [
    ...ofNamespaces(false),
    ...snapshot.rows.flatMap((row) =>
      diagnoseRow(row, resources.get(keyOf(row.kind, row.namespace, row.resourceName))),
    ),
    ...snapshot.resources.flatMap((each) =>
      diagnoseResource(each, rows.get(keyOf(each.kind, each.namespace, each.name)), owners.get(each.namespace)),
    ),
    ...diagnosePods(snapshot.pods ?? [], resources),
    ...diagnoseServers(snapshot),
    ...manifests.flatMap(diagnoseManifest),
    ...ofNamespaces(true),
  ]
}

const keyOf = (kind: Kind, namespace: string, name: string): string => `${kind} ${namespace}/${name}`

const explainStray =
  'Its organization is not in the database. If "orrery sync status" lists resources in it, run "orrery sync adopt". ' +
  'Otherwise it is of no use, and you may delete it.'
const explainMissing =
  'Its resource is missing. The next sweep recreates it. If the sweep is held, run "orrery sync accept".'

const diagnoseNamespace = (
  { name, organizationId, owner, exists, isDeleting, faults, hostPortProblem }: DiagnosedNamespace,
  rows: readonly DiagnosedRow[],
): Difference[] => {
  const subject = `Namespace ${name}`
  const fix = { kind: 'organization', id: organizationId, revision: 0 } as const
  if (owner === 'unknown') return [{ subject, text: explainStray }]
  if (isDeleting && owner === 'deleted') return []
  if (isDeleting) return [{ subject, text: 'It is terminating. The API recreates it when it is gone.' }]
  const isNeeded = rows.some((row) => row.namespace === name && row.resourceUid !== null && !row.isDeleting)
  if (!exists) return isNeeded ? [{ subject, text: 'It is missing. The next sweep of the API recreates it.' }] : []
  const held = `It gets no host ports: the admission policy ${hostPortPolicy} ${hostPortProblem}. ${explainInstall}`
  return [
    ...faults.map((fault) => ({ subject, text: `Its ${fault}.`, fix })),
    ...(hostPortProblem === undefined || owner === 'deleted' ? [] : [{ subject, text: held }]),
  ]
}

const diagnoseRow = (row: DiagnosedRow, live: DiagnosedResource | undefined): Difference[] => {
  const subject = `${kinds[row.kind].kind} ${row.id}`
  const fix = { kind: row.kind, id: row.id, revision: row.revision }
  if (row.isRemoved) return []
  if (row.dirtySeconds !== undefined) {
    return row.dirtySeconds < slowPushSeconds
      ? []
      : [{ subject, text: `Its push has been pending for ${Math.round(row.dirtySeconds)} s. Its status says why.` }]
  }
  if (row.isDeleting) return [{ subject, text: 'It is being deleted, and no push is pending.', fix }]
  if (live === undefined) {
    return row.resourceUid === null
      ? [{ subject, text: 'It has no resource, and no push is pending.', fix }]
      : [{ subject, text: explainMissing }]
  }
  if (row.resourceUid !== live.uid) {
    return [{ subject, text: 'Its resource has another uid than the one on record.', fix }]
  }
  return [...diagnoseSpec(row, live, { subject, fix }), ...diagnosePhase(row, live, subject)]
}

const diagnoseSpec = (
  row: DiagnosedRow,
  { spec, isDeleting }: DiagnosedResource,
  { subject, fix }: { subject: string; fix: Fix },
): Difference[] => {
  if (isDeleting) return [{ subject, text: 'Its resource is terminating, and the row is not deleted.' }]
  const revision = Number(spec.revision ?? 0)
  if (revision > row.revision) {
    const text =
      `Its row is frozen: the row has revision ${row.revision}, the resource ${revision}. ` +
      'Run "orrery sync release".'
    return [{ subject, text }]
  }
  const fields = [...new Set([...Object.keys(row.spec), ...Object.keys(spec)])].filter(
    (name) => !isDeepStrictEqual(row.spec[name], spec[name]),
  )
  return fields.length === 0
    ? []
    : [{ subject, text: `Its resource differs in ${fields.sort().join(', ')}, and no push is pending.`, fix }]
}

const diagnosePhase = (row: DiagnosedRow, live: DiagnosedResource, subject: string): Difference[] => {
  const { phase } = live
  // The operator reports Inactive for a world that never ran.
  if (phase === undefined || isOneOf(unusedPhases, phase) || live.observedRevision < row.runRevision) return []
  return phase === row.phase
    ? []
    : [
        {
          subject,
          text: `REST shows phase ${row.phase}, and the cluster ${phase}. Check that a replica of the API pulls.`,
        },
      ]
}

/** The texts on resources without a row, by the state of their organization. */
const explainOwner = {
  deleted: 'Its organization was deleted, and it has no row. Run "orrery sync remove", or restore the organization.',
  unknown: 'Its organization is not in the database. Run "orrery sync adopt", or delete it with kubectl.',
} as const

/** A resource in a namespace that is not of an organization has no owner. The API ignores it. */
const diagnoseResource = (
  live: DiagnosedResource,
  row: DiagnosedRow | undefined,
  owner: OrganizationState | undefined,
): Difference[] => {
  const subject = `${kinds[live.kind].kind} ${live.namespace}/${live.name}`
  if (owner === undefined || (row !== undefined && !row.isRemoved)) return []
  if (owner !== 'living') return [{ subject, text: explainOwner[owner] }]
  if (live.isDeleting) return []
  if (row !== undefined) return [{ subject, text: 'It was deleted over REST. Run "orrery sync remove".' }]
  if (live.rowCluster !== undefined) {
    const text = `Its row belongs to the cluster ${live.rowCluster}. Delete the resource here.`
    return [{ subject, text }]
  }
  return live.hasMarks
    ? [{ subject, text: 'It is an orphan: it has no row. Run "orrery sync adopt" or "orrery sync remove".' }]
    : [{ subject, text: 'It has no row. Its condition Synced says why it is not adopted.' }]
}

const diagnosePods = (pods: readonly DiagnosedPod[], resources: ReadonlyMap<string, DiagnosedResource>): Difference[] =>
  pods
    .filter(({ kind, namespace, resourceName }) => !resources.has(keyOf(kind, namespace, resourceName)))
    .map(({ kind, namespace, name, resourceName }) => ({
      subject: `Pod ${namespace}/${name}`,
      text: `Its ${kinds[kind].kind} ${resourceName} does not exist. The operator deletes it; check that it runs.`,
    }))

/** Compares the Worlds with the pods of their servers. */
const diagnoseServers = ({ resources, pods }: Snapshot): Difference[] => {
  if (pods === undefined) return []
  const servers = Map.groupBy(
    pods.filter(({ kind, hasEnded }) => kind === 'world' && !hasEnded),
    ({ namespace, resourceName }) => `${namespace}/${resourceName}`,
  )
  return resources.flatMap(({ kind, namespace, name, spec, phase }) => {
    if (kind !== 'world') return []
    const subject = `World ${namespace}/${name}`
    const count = servers.get(`${namespace}/${name}`)?.length ?? 0
    if (count > 1) {
      const text = `It has ${count} servers. Delete all its server pods except the one that has the name of the World.`
      return [{ subject, text }]
    }
    if (count === 0 && spec.state === 'Running' && isOneOf(runningPhases, phase ?? '')) {
      return [{ subject, text: `It is ${phase}, and has no pod. Check that the operator runs.` }]
    }
    return count === 1 && spec.state === 'Stopped' && phase === 'Stopped'
      ? [{ subject, text: 'It is Stopped, and has a pod. Check that the operator runs.' }]
      : []
  })
}

/** Orrery does not write these objects itself: an administrator installs them. */
const explainInstall = 'Install the manifests of this version again: upgrade the chart, or apply its files.'

/** The policy, and its binding, with which only the API grants runs. */
const grantPolicy = 'orrery-run-fields'
/** The consequence of a missing grant policy. */
export const explainOpenGrant =
  'Without it, everyone who may write Worlds and BotDeployments can grant runs (spec.granted).'

/** The consequences of a missing or changed policy or binding, by name. */
const consequences: Readonly<Record<string, string>> = {
  [grantPolicy]: explainOpenGrant,
  [hostPortPolicy]: 'Without it, no organization gets host ports.',
}

const diagnoseManifest = ({ kind, name, isMissing, problem, fields }: DiagnosedManifest): Difference[] => {
  const subject = `${kind} ${name}`
  if (problem !== undefined) return [{ subject, text: problem }]
  const advice = [consequences[name] ?? [], explainInstall].flat().join(' ')
  if (isMissing) return [{ subject, text: `It is missing. ${advice}` }]
  if (fields.length === 0) return []
  const places = fields.map((field) => `spec${field}`).join(', ')
  return [{ subject, text: `It differs from the manifest of this version in ${places}. ${advice}` }]
}
