import { isIP } from 'node:net'
import type { Rule } from './environment.ts'

/**
 * Refuses a public URL without TLS: credentials would cross the network in the clear. Loopback addresses are free, and
 * `ORRERY_ALLOW_INSECURE_PUBLIC_URL=true` permits others, where a network is trusted.
 */
export const refuseInsecurePublicUrl: Rule = (given) => {
  const parsed = URL.parse(given.ORRERY_PUBLIC_URL ?? '')
  if (parsed?.protocol !== 'http:' || isLoopback(parsed.hostname)) return []
  if (given.ORRERY_ALLOW_INSECURE_PUBLIC_URL === 'true') return []
  const message =
    'is http, which only a loopback address may be: use https, or set ORRERY_ALLOW_INSECURE_PUBLIC_URL=true'
  return [['ORRERY_PUBLIC_URL', message]]
}

const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || (isIP(hostname) === 4 && hostname.startsWith('127.'))
