import type { Database } from '#api/platform/database/client.ts'
import type { ClusterGate } from '#api/sync/clusters/clusterGate.ts'
import type { ContainerClients } from '#api/sync/clusters/deletionCause.ts'
import type { Leadership } from '#api/sync/clusters/leader.ts'
import type { Echoes } from '#api/sync/rows/echoes.ts'
import type { Kind } from '#api/sync/rows/synced.ts'
import type { Clock } from '#shared/clock.ts'
import type { NewId } from '#shared/ids.ts'
import type { Client } from '#shared/kube/client.ts'
import type { EventRecorder } from '#shared/kube/events.ts'
import type { Log } from '#shared/log.ts'
import type { BotDeployment } from '#shared/resources/botDeployment.ts'
import type { World } from '#shared/resources/world.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Tracing } from '#shared/tracing/tracing.ts'
import type { LimitDeps } from './edits.ts'
import type { Findings } from './findings.ts'
import type { LogKeeper } from './keepLogs.ts'

/** The dependencies of pull. */
export type PullDeps = ContainerClients &
  LimitDeps & {
    readonly db: Database
    /** Runs a transaction only while this replica is the leader. */
    readonly transaction: Leadership['transaction']
    readonly worlds: Client<World>
    readonly bots: Client<BotDeployment>
    readonly cluster: string
    readonly profiles: ScalingProfiles
    readonly tracing: Tracing
    readonly namespacePrefix: string
    /** The time for which deleted rows are kept. */
    readonly keepDeletedMs: number
    /** The resources that are as push applied them. */
    readonly echoes: Pick<Echoes, 'has' | 'pulled'>
    readonly findings: Findings
    readonly logKeeper: LogKeeper
    readonly events: Pick<EventRecorder, 'record'>
    readonly clock: Clock
    readonly newId: NewId
    readonly log: Log
    readonly gate: ClusterGate
    /** Makes the next sweep of a kind start soon. */
    readonly requestSweep: (kind: Kind) => void
    /** Called after a commit that marked a row dirty. */
    readonly wake: () => void
  }
