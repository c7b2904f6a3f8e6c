import type { ApiError } from '#client/error.ts'
import { splitAdvice } from '#shared/why/wording.ts'
import { formatCount } from './format.ts'

/** An error of the API. The status 0 is that of a request without a response. */
export type Failure = Pick<ApiError, 'status' | 'code' | 'detail' | 'requestId' | 'retryAfterSeconds'>

/** An error as it is shown: what happened, what the API says about it, and what to do. */
export type FailureText = {
  readonly title: string
  readonly detail: string
  readonly remedy: string
  /** The id by which the operators of the platform find the request in the log. */
  readonly requestId: string | undefined
  /** The name of the limit that was reached, such as `maxWorlds`, if the API says it. */
  readonly limit: string | undefined
  /** The seconds until another attempt may succeed, if the API says it. */
  readonly waitSeconds: number | undefined
}

type Text = { readonly title: string; readonly remedy: string | ((failure: Failure) => string) }

const waitOf = ({ retryAfterSeconds }: Failure): string =>
  retryAfterSeconds === undefined ? 'a moment' : formatCount(retryAfterSeconds, 'second')

const reportOf = ({ requestId }: Failure): string =>
  `tell the operators of the platform${requestId === undefined ? '' : ' the request id'}`

const notAllowed: Text = {
  title: 'The platform does not allow this',
  remedy: 'Choose another value, or ask the operators of the platform to allow it.',
}

const unavailable: Text = {
  title: 'The API is not available',
  remedy: (failure) => `Try again in ${waitOf(failure)}. If it lasts, ${reportOf(failure)}.`,
}

/** By code, for the statuses that have several meanings. */
const textsByCode: Readonly<Record<string, Text>> = {
  size_not_allowed: notAllowed,
  image_not_allowed: notAllowed,
  host_port_not_allowed: notAllowed,
  limit_reached: {
    title: 'A limit of the organization is reached',
    remedy: 'Stop or delete what is not needed, or ask the operators of the platform for a higher limit.',
  },
  build_unresolved: {
    title: 'The build cannot be resolved',
    remedy: 'Choose a channel and a tag that have a build, or upload one.',
  },
  sleep_unsupported: {
    title: 'The server does not report its players',
    remedy: 'Choose a query in the settings, or empty Sleep after.',
  },
}

const textsByStatus: Readonly<Record<number, Text>> = {
  0: {
    title: 'The API cannot be reached',
    remedy: 'Check the network connection and any proxy or VPN, then try again.',
  },
  401: {
    title: 'The sign-in is not valid',
    remedy: 'The key or token is wrong, expired or revoked. Sign in again.',
  },
  403: {
    title: 'Permission denied',
    remedy: 'Ask an administrator of the organization for the permission, or sign in with another key.',
  },
  404: {
    title: 'Not found',
    remedy: 'It was deleted, or the key has no access to it. Check the address, or go back to the fleet.',
  },
  409: {
    title: 'Not possible in the present state',
    remedy: 'Look at the present state, then try again.',
  },
  412: {
    title: 'Somebody else changed it first',
    remedy: 'Nothing was saved. Load the present version, then make the change again.',
  },
  422: {
    title: 'The input is not valid',
    remedy: 'Correct what the message names, then try again.',
  },
  429: {
    title: 'Too many requests',
    remedy: (failure) => `Wait ${waitOf(failure)}, then try again.`,
  },
  502: unavailable,
  503: unavailable,
  504: unavailable,
}

const unknown: Text = {
  title: 'The request failed',
  remedy: (failure) => `Try again. If it fails again, ${reportOf(failure)}.`,
}

/** Returns the text of an error. An unknown code has the text of its status. */
export const explainFailure = (failure: Failure): FailureText => {
  const { status, code, detail, requestId, retryAfterSeconds: waitSeconds } = failure
  const { title, remedy } =
    (Object.hasOwn(textsByCode, code) ? textsByCode[code] : textsByStatus[status === 400 ? 422 : status]) ?? unknown
  const text = typeof remedy === 'string' ? remedy : remedy(failure)
  return { title, detail, remedy: text, requestId, limit: limitIn(failure), waitSeconds }
}

const limitIn = ({ code, detail }: Failure): string | undefined =>
  code === 'limit_reached' ? /\bmax[A-Z]\w{1,40}\b/.exec(detail)?.[0] : undefined

/** Returns the remedy of a message, or undefined if the message itself says what to do. */
export const remedyBeside = (message: string, remedy: string | undefined): string | undefined =>
  splitAdvice(message).advice === '' ? remedy : undefined
