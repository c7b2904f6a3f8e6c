import { isIP } from 'node:net'
import type { Rule } from './environment.ts'

/**
 * Refuses a public URL without TLS, because credentials would cross the network in clear text. Loopback addresses are
 * allowed, and `ORRERY_ALLOW_INSECURE_PUBLIC_URL=true` allows others on a trusted network.
 */
export const refuseInsecurePublicUrl: Rule = (given) => {
  const parsed = URL.parse(given.ORRERY_PUBLIC_URL ?? '')
  if (parsed?.protocol !== 'http:' || isLoopback(parsed.hostname)) return []
  if (given.ORRERY_ALLOW_INSECURE_PUBLIC_URL === 'true') return []
  const message =
    'is http, which only a loopback address may be: use https, or set ORRERY_ALLOW_INSECURE_PUBLIC_URL=true'
  return [['ORRERY_PUBLIC_URL', message]]
}

/** Reports whether a host name of a URL, or an address, is this machine. */
export const isLoopback = (hostname: string): boolean =>
  ['localhost', '[::1]', '::1'].includes(hostname) || (isIP(hostname) === 4 && hostname.startsWith('127.'))
