import type { networkingStrategies } from '#shared/enumerations.ts'
import { countServicePorts, type WorldPort } from './ports.ts'
import { addUse } from './use.ts'

/** The use of an organization's limits by runs: their capacities, and the node ports and load balancers of their services. */
export type RunUse = {
  readonly capacity: number
  readonly nodePorts: number
  readonly loadBalancers: number
}

/** The use of no run. */
export const noUse: RunUse = { capacity: 0, nodePorts: 0, loadBalancers: 0 }

/** The part of a run that its use follows from. */
type UsingRun = {
  readonly capacity: number
  readonly strategy: (typeof networkingStrategies)[number]
  readonly ports: readonly WorldPort[]
}

/** Returns the use of a run. A Service of type NodePort or LoadBalancer has a node port for each protocol of each public port. */
export const useOfRun = ({ capacity, strategy, ports }: UsingRun): RunUse => ({
  capacity,
  nodePorts: strategy === 'NodePort' || strategy === 'LoadBalancer' ? countServicePorts(ports) : 0,
  loadBalancers: strategy === 'LoadBalancer' ? 1 : 0,
})

/** The limits of runs at the same time. */
export type RunLimits = {
  readonly maxRunningCapacity: number
  readonly maxNodePorts: number
  readonly maxLoadBalancers: number
}

/** Returns why a run is not allowed besides the other runs of the organization and what to do, or undefined if it is. */
export const explainRunLimit = (
  own: RunUse,
  others: RunUse,
  { maxRunningCapacity, maxNodePorts, maxLoadBalancers }: RunLimits,
): string | undefined => {
  const { capacity, nodePorts, loadBalancers } = addUse(own, others)
  const explain = (what: string, max: number, limit: keyof RunLimits, advice: string): string =>
    `The running worlds of the organization would have ${what}. The limit is ${max} (${limit}). ${advice}`
  if (capacity > maxRunningCapacity) {
    const what = `a total capacity of ${capacity}`
    return explain(what, maxRunningCapacity, 'maxRunningCapacity', 'Stop another world first.')
  }
  const advice = 'Stop another world or choose another networking strategy.'
  if (own.loadBalancers > 0 && loadBalancers > maxLoadBalancers) {
    return explain(`${loadBalancers} load balancers`, maxLoadBalancers, 'maxLoadBalancers', advice)
  }
  if (own.nodePorts > 0 && nodePorts > maxNodePorts) {
    return explain(`${nodePorts} node ports`, maxNodePorts, 'maxNodePorts', advice)
  }
  return undefined
}
