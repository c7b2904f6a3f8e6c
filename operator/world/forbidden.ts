import { type Diagnosis, seriousDiagnosis } from '#operator/pods/diagnosis.ts'
import { explainHostPorts } from '#shared/domain/hostPorts.ts'
import { hasService, publicPorts } from '#shared/domain/ports.ts'
import { findImageFault } from '#shared/images.ts'
import { isServiceName } from '#shared/kube/names.ts'
import type { WorldRun } from '#shared/resources/world.ts'
import { remedies } from '#shared/why/remedies.ts'
import { routeNotAvailable } from './route.ts'
import type { PlanInput } from './step.ts'

const imageFaults = {
  address: `The image has an IP address or a loopback name as its registry. Use a registry with a name.`,
  registry: `Images from this registry may not run here. Use an allowed registry, or ask the platform operator.`,
} as const

const nameFault = `The networking strategy needs a Service of the name of the world. ${remedies.NameNotAllowed}`

/**
 * Returns why the operator's settings forbid a pod of the run, or undefined if they allow one. In the namespace of an
 * organization the API has checked the image. The operator's default image is always allowed.
 */
export const explainForbidden = (input: PlanInput, run: WorldRun): Diagnosis | undefined => {
  const { world, policy, settings } = input
  const { image, strategy } = run
  if (hasService(strategy) && !isServiceName(world.metadata.name)) {
    return seriousDiagnosis('NameNotAllowed', nameFault, world.metadata.name)
  }
  if (strategy === 'Route' && input.route === 'unserved') return routeNotAvailable
  const hostPortFault = strategy === 'HostPort' ? explainHostPortFault(input, run) : undefined
  if (hostPortFault !== undefined) return seriousDiagnosis('HostPortNotAllowed', hostPortFault)
  if (policy.organization !== undefined || image === settings.defaultServerImage) return undefined
  const fault = findImageFault(image, settings.imageRegistries)
  return fault && seriousDiagnosis('ImageNotAllowed', imageFaults[fault], image)
}

const explainHostPortFault = ({ policy, settings }: PlanInput, { ports }: WorldRun): string | undefined => {
  if (policy.hostPorts !== true)
    return `Servers of this namespace may not use host ports. ${remedies.HostPortNotAllowed}`
  const fault = explainHostPorts(publicPorts(ports), settings.hostPorts)
  return fault && `${fault} ${remedies.HostPortNotAllowed}`
}
