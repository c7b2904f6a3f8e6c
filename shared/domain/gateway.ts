import { namePatterns } from '#shared/kube/names.ts'
import type { ParseResult } from '#shared/parseResult.ts'

/** A Gateway, and the listener that worlds use; without one, all listeners that admit them. */
export type Gateway = { readonly namespace: string; readonly name: string; readonly listener?: string }

/** The URLs of worlds behind a Gateway: a scheme, the domain below which each world has a host name, and a port. */
export type RouteUrl = { readonly scheme: 'ws' | 'wss'; readonly domain: string; readonly port: number }

const [label, object, host] = [namePatterns.dnsLabel, namePatterns.object, namePatterns.host].map(
  (pattern) => new RegExp(pattern),
) as [RegExp, RegExp, RegExp]

/** The maximum length of the domain. With the id of a world before it, it is a DNS name of at most 253 characters. */
const maxDomainLength = 220

const isShort = (pattern: RegExp, text: string, maxLength: number): boolean =>
  text.length <= maxLength && pattern.test(text)

/** Parses a Gateway such as `gateways/players`, or `gateways/players/wss` with a listener. */
export const parseGateway = (text: string): ParseResult<Gateway> => {
  const [namespace = '', name = '', listener, ...rest] = text.split('/')
  const isNamed = isShort(label, namespace, 63) && isShort(object, name, 253)
  if (!isNamed || rest.length > 0 || (listener !== undefined && !isShort(object, listener, 253))) {
    return {
      errors: ['must be the namespace, the name and optionally the listener of a Gateway: gateways/players/wss'],
    }
  }
  return { value: { namespace, name, ...(listener !== undefined && { listener }) } }
}

/** Parses a URL such as `wss://*.worlds.example.com`, in which `*` stands for the id of a world. */
export const parseRouteUrl = (text: string): ParseResult<RouteUrl> => {
  const [, scheme, domain = '', digits] = /^(wss?):\/\/\*\.([^:/?#]+)(?::(\d{1,5}))?$/.exec(text) ?? []
  const port = digits === undefined ? (scheme === 'ws' ? 80 : 443) : Number(digits)
  const isDomain = isShort(host, domain, maxDomainLength)
  if ((scheme !== 'ws' && scheme !== 'wss') || !isDomain || port < 1 || port > 65_535) {
    return {
      errors: [
        `must be a URL with * for the id of a world, such as wss://*.worlds.example.com; the domain has at most ${maxDomainLength} characters`,
      ],
    }
  }
  return { value: { scheme, domain, port } }
}
