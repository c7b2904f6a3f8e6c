import * as z from 'zod'
import { callPeer } from '#shared/peers.ts'
import type { WorldQueue } from '#shared/resources/world.ts'

/** Asks the server at a URL for its queue. Resolves to undefined without a usable answer. */
export type AskServer = (url: string, signal: AbortSignal) => Promise<WorldQueue | undefined>

/** The maximum number of bytes of an answer: a server is a tenant's program and may send any number. */
const maxAnswerBytes = 8_192
const count = z.int().min(0).max(1_000_000)
const answerSchema = z.object({ active: count, queued: count })

/**
 * Sends a plain GET on a new connection. There are too many servers, with too few requests each, to keep connections open. It
 * follows no redirect, which would let a tenant's program choose what the operator requests. Never rejects, even if a node reports
 * an invalid address.
 */
export const askServer: AskServer = async (url, signal) => {
  try {
    const { statusCode, isComplete, body } = await callPeer({ url, signal, maxBytes: maxAnswerBytes })
    return statusCode === 200 && isComplete ? answerSchema.safeParse(JSON.parse(body.toString())).data : undefined
  } catch {
    return undefined
  }
}
