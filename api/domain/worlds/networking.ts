import type { InputFault } from '#api/platform/http/problem.ts'
import { explainHostPorts, type HostPorts } from '#shared/domain/hostPorts.ts'
import { publicPorts } from '#shared/domain/ports.ts'
import { queryRule } from '#shared/domain/query.ts'
import type { Runtime } from './schema.ts'
import type { WorldRow } from './table.ts'

type Networking = Pick<WorldRow['networking'], 'strategy' | 'ports'>

/** Returns why the platform does not offer a networking strategy, or undefined if it does. */
export const explainStrategy = (strategy: Networking['strategy'], offersRoutes: boolean): string | undefined =>
  strategy === 'Route' && !offersRoutes
    ? 'The networking strategy Route needs a Gateway, and the platform has none. Choose another strategy, or ask the platform operator for a Gateway.'
    : undefined

/** Returns the field of REST with a strategy, a host port or a range that the platform does not have, or undefined. */
export const explainNetworking = (
  { strategy, ports }: Networking,
  { hostPorts, offersRoutes }: { readonly hostPorts: HostPorts; readonly offersRoutes: boolean },
): InputFault | undefined => {
  const notOffered = explainStrategy(strategy, offersRoutes)
  if (notOffered !== undefined) return { path: '/networking/strategy', message: notOffered }
  const message = strategy === 'HostPort' ? explainHostPorts(publicPorts(ports), hostPorts) : undefined
  return message === undefined ? undefined : { path: '/networking/ports', message }
}

/** Returns the fault of a world whose query has no port to ask at, or undefined if it has one. */
export const explainQuery = ({
  runtime: { query },
  networking: { ports },
}: {
  readonly runtime: Pick<Runtime, 'query'>
  readonly networking: Networking
}): InputFault | undefined =>
  queryRule.isKept({ query, ports }) ? undefined : { path: '/runtime/query', message: queryRule.message }
