import { fixedIdentity, secretsOf } from '../options.ts'
import { type Address, toAddress } from './address.ts'
import type { RealtimeError } from './error.ts'
import type { RealtimeOptions } from './types.ts'

/** The address of one connection, with its credential. */
export type Access = Address & { readonly secrets: readonly string[]; readonly token?: string }

/** The access of each connection. */
export type AccessSource = {
  /** True if the credential is too long for a handshake, or may change. */
  readonly needsTickets: boolean
  /** Returns the access: at once, unless a source of tokens gives it. Undefined if that fails. */
  next(): Access | Promise<Access | undefined>
  /** Reports whether another token prevents the error with which a connection ended. */
  mayRenew(error: RealtimeError): boolean
  /** Reports whether the source has another token than the one of a connection that ended. Undefined if the source fails. */
  hasAnother(ended: Access): Promise<boolean | undefined>
}

/** The codes of ends that another token prevents: the close code of a connection, and the code of a refused one. */
const credentialCodes = ['4401', 'unauthenticated']

/** Creates the access for the options. Throws a TypeError, without the credential, if they cannot be sent. */
export const createAccess = (options: RealtimeOptions): AccessSource => {
  const { bearerToken } = options
  const known = fixedIdentity(options)
  const accessWith = (token = known.bearerToken): Access => {
    const identified = { ...known, bearerToken: token }
    return { ...toAddress(identified), secrets: secretsOf(identified), ...(token !== undefined && { token }) }
  }
  const fixed = accessWith()
  if (typeof bearerToken !== 'function') {
    return {
      needsTickets: fixed.protocols === undefined,
      next: () => fixed,
      mayRenew: () => false,
      hasAnother: async () => false,
    }
  }
  const tokenNow = async (refused?: string): Promise<string | undefined> => {
    try {
      return await bearerToken(refused)
    } catch {
      return undefined
    }
  }
  return {
    needsTickets: true,
    next: async () => {
      const token = await tokenNow()
      return token === undefined ? undefined : accessWith(token)
    },
    mayRenew: ({ code }) => credentialCodes.includes(code),
    hasAnother: async (ended) => {
      const token = await tokenNow(ended.token)
      return token === undefined ? undefined : token !== ended.token
    },
  }
}
