import type { Limits } from '#api/domain/access/limits.ts'
import type { Database } from '#api/platform/database/client.ts'
import type { ObjectOptions } from '#api/sync/namespaces/namespaceObjects.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'

/** The source of a snapshot. */
export type SnapshotDeps = {
  readonly db: Database
  readonly transport: Transport
  readonly cluster: string
  readonly namespacePrefix: string
  readonly defaultLimits: Limits
  readonly profiles: ScalingProfiles
  /** The settings that the objects which the API keeps depend on. Without a URL, the rules that name the API are not compared. */
  readonly settings: {
    readonly publicUrl: string | undefined
    readonly port: number
    readonly clusterUsers: ObjectOptions['users']
    readonly network: Pick<ObjectOptions['network'], 'apiNetworks' | 'dnsNetworks'>
  }
}
