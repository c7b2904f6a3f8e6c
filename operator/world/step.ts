import type { PlanOf } from '#operator/lifecycle/plan.ts'
import type { HttpRoute, NewRoute } from '#operator/pods/httpRoute.ts'
import type { LabelPatch, MapPatch } from '#operator/pods/labels.ts'
import type { Node } from '#operator/pods/node.ts'
import type { Pod } from '#operator/pods/pod.ts'
import type { Service, ServicePort } from '#operator/pods/service.ts'
import type { DeletePod } from '#operator/pods/termination.ts'
import type { NamespacePolicy } from '#shared/resources/namespacePolicy.ts'
import type { World, WorldRun, WorldStatus } from '#shared/resources/world.ts'
import type { OwnHostPorts } from './hostPorts.ts'
import type { AllotPorts } from './portPools.ts'
import type { QueryResult } from './query/answer.ts'
import type { WorldSettings } from './settings.ts'

/** A write to the cluster. The executor decides nothing. */
export type Step =
  /** `hostPorts` has the host port of each public port with the strategy HostPort. */
  | { readonly verb: 'createPod'; readonly run: WorldRun; readonly hostPorts?: readonly number[] }
  | DeletePod
  /** Deletes a pod that has no node because of its host ports. The next pod gets others. */
  | { readonly verb: 'replacePod'; readonly pod: Pod; readonly run: WorldRun }
  /** For a pod on a dead node: no kubelet is left to confirm its end. */
  | { readonly verb: 'forceDeletePod'; readonly pod: Pod }
  /** `numbers` has the port of the Service for each public port, if the Service shares its address. */
  | { readonly verb: 'createService'; readonly run: WorldRun; readonly numbers?: readonly number[] }
  /** Creates the route to a service, which owns it: the garbage collector deletes it after the service. */
  | { readonly verb: 'createRoute'; readonly service: Service; readonly route: NewRoute }
  | { readonly verb: 'repairRoute'; readonly route: HttpRoute; readonly patch: LabelPatch | { readonly spec: object } }
  | { readonly verb: 'deleteService'; readonly service: Service }
  /** Makes kube-proxy forget the server of a Service that has ended (`placeholder.ts`). */
  | { readonly verb: 'addPlaceholders'; readonly service: Service }
  /** Puts back the labels by which the product selects the pod. */
  | { readonly verb: 'repairPod'; readonly pod: Pod; readonly patch: LabelPatch }
  /** Puts back the labels of a Service, or its selector and ports. Its address and node ports stay. */
  | {
      readonly verb: 'repairService'
      readonly service: Service
      readonly patch:
        | LabelPatch
        | { readonly spec: { readonly selector?: MapPatch; readonly ports?: readonly ServicePort[] } }
    }
  | { readonly verb: 'deleteWorld' }

/** Reports whether the step deletes a pod that may have run. */
export const isPodDeletion = ({ verb }: Step): boolean => verb === 'deletePod' || verb === 'forceDeletePod'

/** The result of planning a World. */
export type Plan = PlanOf<Step, WorldStatus> & {
  /** Do not write the status in this reconcile. A change of the pod, or the requeue, triggers another one that writes it. */
  readonly deferStatus?: true
}

/** Everything that a plan depends on. The same input gives the same plan. */
export type PlanInput = {
  readonly world: World
  /** The pod with the world's name, which may be a stranger's. */
  readonly pod: Pod | undefined
  /** The pod's node; `gone` if the pod names a node that does not exist. */
  readonly node: Node | 'gone' | undefined
  /** The service with the world's name, which may be a stranger's. */
  readonly service: Service | undefined
  /** The route with the world's name, which may be a stranger's; `unserved` if the cluster has no routes or no setting names a Gateway. */
  readonly route: HttpRoute | 'unserved' | undefined
  /** The time for which this process has seen that service without the pod of its run. */
  readonly serviceUnusedMs: number
  /** The knowledge of this process about this pod's server, from polls. */
  readonly queried: QueryResult | undefined
  /** The age of the last poll's answer; infinite if the last poll got none, or began before the world was due to sleep. */
  readonly answerAgeMs: number
  /** The world has bots that keep it awake. Known if the world has idleStopMinutes. */
  readonly hasBots: boolean
  readonly policy: NamespacePolicy
  readonly settings: WorldSettings
  readonly nowMs: number
  readonly newRunId: () => string
  readonly hostPorts: OwnHostPorts
  /** Allots ports of a pool, and holds them for this world until its Service is seen or is not created. */
  readonly allotPorts: AllotPorts
}
