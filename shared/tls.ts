import { readFile } from 'node:fs/promises'
import type { Server } from 'node:https'
import { createSecureContext } from 'node:tls'
import type { Clock } from '#shared/clock.ts'
import type { Log } from '#shared/log.ts'
import { reloadRegularly } from '#shared/reload.ts'

/** PEM files of a certificate, with its chain, and of its key. */
export type TlsFiles = { readonly certFile: string; readonly keyFile: string }

/** Returns the files, or undefined if one is missing. */
export const toTlsFiles = ({
  certFile,
  keyFile,
}: { [File in keyof TlsFiles]: string | undefined }): TlsFiles | undefined =>
  certFile === undefined || keyFile === undefined ? undefined : { certFile, keyFile }

type Pair = { readonly cert: string; readonly key: string }

/** The interval at which the files are read again. */
const reloadMs = 10_000

/** Reads a certificate and its key; throws an Error that names the files where they cannot serve together. */
export const readTls = async ({ certFile, keyFile }: TlsFiles): Promise<Pair> => {
  try {
    const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')])
    createSecureContext({ cert, key })
    return { cert, key }
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`The certificate ${certFile} with the key ${keyFile} cannot be used: ${why}`, { cause })
  }
}

/**
 * Reloads the files of a server when they change, for new connections. Files that cannot be used are logged once, and the last
 * valid pair stays in use. Returns a function that stops it.
 */
export const reloadTls = (
  server: Pick<Server, 'setSecureContext'>,
  options: { files: TlsFiles; present: Pair; clock: Clock; log: Log },
): (() => void) => {
  const { files, clock, log } = options
  let { present } = options
  const problem = 'could not load the new certificate, still using the previous one'
  return reloadRegularly({ clock, log, everyMs: reloadMs, problem }, async () => {
    const pair = await readTls(files)
    if (pair.cert === present.cert && pair.key === present.key) return
    server.setSecureContext(pair)
    present = pair
    log.info({ certFile: files.certFile }, 'reloaded the certificate')
  })
}
