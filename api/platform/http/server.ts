import { createServer, type Server as HttpServer, type IncomingMessage } from 'node:http'
import { createServer as createHttpsServer, type Server as HttpsServer } from 'node:https'

import { hasSeveralHosts, useOriginForm } from './inTurn.ts'

type Options = {
  /** The certificate and its key; undefined serves plain HTTP. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined
  /** The time limit for the headers of a request, and for the TLS handshake. */
  readonly headersMs: number
  /** The time limit for a request with its body. */
  readonly requestMs: number
  /** The time for which a connection without a request is kept. */
  readonly keepAliveMs: number
  /** The interval at which the limits for headers and requests are enforced. */
  readonly checkMs: number
  readonly isUpgrade: (request: IncomingMessage) => boolean
}

/**
 * Creates the server of the API, which does not listen yet. The limit for headers counts from the first byte of a request,
 * so a kept connection may be idle for longer than that.
 */
export const openServer = (options: Options): HttpServer | HttpsServer => {
  const { tls, headersMs } = options
  const serverOptions = {
    requestTimeout: options.requestMs,
    headersTimeout: headersMs,
    keepAliveTimeout: options.keepAliveMs,
    connectionsCheckingInterval: options.checkMs,
    shouldUpgradeCallback: (request: IncomingMessage) => {
      useOriginForm(request)
      return options.isUpgrade(request) && !hasSeveralHosts(request)
    },
  }
  return tls === undefined
    ? createServer(serverOptions)
    : createHttpsServer({ ...serverOptions, ...tls, handshakeTimeout: headersMs })
}
