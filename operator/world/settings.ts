import type { RestartSettings } from '#operator/lifecycle/restartBudget.ts'
import type { PodSettings } from '#operator/pods/pod.ts'
import type { StopSettings } from '#operator/pods/termination.ts'
import type { Gateway, RouteUrl } from '#shared/domain/gateway.ts'
import type { HostPorts } from '#shared/domain/hostPorts.ts'
import { serviceTypes } from '#shared/enumerations.ts'
import type { ScalingProfiles } from '#shared/scalingProfiles.ts'
import type { Placement } from './placement.ts'

/** The values of ORRERY_DEFAULT_NETWORKING_STRATEGY: the pod's own address, or a type of service. */
export const defaultStrategies = ['PodIP', ...serviceTypes] as const

/** The operator's settings for worlds. */
export type WorldSettings = RestartSettings &
  PodSettings &
  StopSettings & {
    /** The image of a world without one. */
    readonly defaultServerImage: string
    /** The limits of each profile, for new runs. */
    readonly profiles: ScalingProfiles
    /** The placement of servers by group and region; the first entry that matches counts. */
    readonly placement: readonly Placement[]
    /** The meaning of the networking strategy Default. */
    readonly defaultStrategy: (typeof defaultStrategies)[number]
    /** The host ports that servers may use. */
    readonly hostPorts: HostPorts
    /** The Gateway of worlds with the strategy Route, and their URLs; undefined if there is none. */
    readonly route?: { readonly gateway: Gateway; readonly url: RouteUrl }
    /** The kinds of addresses of nodes, the preferred one first. */
    readonly nodeAddressTypes: readonly string[]
    /** The part of a limit that a pod requests, above 0 and at most 1. */
    readonly memoryRequestRatio: number
    readonly cpuRequestRatio: number
    /** The time after which a server that is no longer Ready counts as failed. */
    readonly notReadyDeadlineMs: number
    /** After this time without a report from a node, its servers count as ended; 0 means never. */
    readonly nodeLostForceMs: number
  }
