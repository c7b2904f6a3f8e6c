import { isIP } from 'node:net'

// What Kubernetes accepts as names and labels, as sources of regular expressions for JavaScript, RE2 and CEL.

const label = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const subdomain = `${label}(\\.${label})*`
const hostLabel = '[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?'
const qualified = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'

/** The names of objects, and the parts of labels. The patterns limit no length but that behind the slash of a key. */
export const namePatterns = {
  /** A namespace, with at most 63 characters. */
  dnsLabel: `^${label}$`,
  /** Most objects, with at most 253 characters. */
  object: `^${subdomain}$`,
  /** A DNS name, with at most 253 characters. */
  host: `^${hostLabel}(\\.${hostLabel})*$`,
  /** A Service, with at most 63 characters: a DNS label of RFC 1035. */
  service: '^[a-z]([-a-z0-9]*[a-z0-9])?$',
  /** A key of a label or an annotation, with at most 253 characters before the slash. */
  labelKey: `^(${subdomain}/)?${qualified}$`,
  /** A value of a label. */
  labelValue: `^(${qualified})?$`,
  /** A container image, as far as the API server checks it. */
  image: '^[!-~]+$',
} as const

/** The end of a sentence about a name that no Service can have. */
export const serviceNameAdvice =
  'use the strategy Default or HostPort, or a name of a-z, 0-9 and - that begins with a letter'

const service = new RegExp(namePatterns.service)

/** Reports whether a Service can have the name of a resource, which has at most 63 characters. */
export const isServiceName = (name: string): boolean => service.test(name)

/** Reports whether that is an IP address or a DNS name. */
export const isHost = (text: string): boolean =>
  isIP(text) > 0 || (text.length <= 253 && new RegExp(namePatterns.object).test(text))
