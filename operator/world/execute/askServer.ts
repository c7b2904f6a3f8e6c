import { get } from 'node:http'
import * as z from 'zod'
import type { WorldQueue } from '#shared/resources/world.ts'

/** Asks the server at a URL for its queue. Resolves to undefined without a usable answer. */
export type AskServer = (url: string, signal: AbortSignal) => Promise<WorldQueue | undefined>

/** The maximum length of an answer, in characters: a server is a tenant's program and may send any number. */
const maxAnswerLength = 4_096
const count = z.int().min(0).max(1_000_000)
const answerSchema = z.object({ active: count, queued: count })

/**
 * Sends a plain GET on a new connection. There are too many servers, with too few requests each, to keep connections open, and
 * `fetch` costs several times as much. It follows no redirect, which would let a tenant's program choose what the operator
 * requests. It never rejects.
 */
export const askServer: AskServer = (url, signal) => requestQueue(url, signal).catch(() => undefined)

/** Rejects an invalid URL: a node reports the address of its pods, and may report anything. */
const requestQueue: AskServer = (url, signal) =>
  new Promise((resolve) => {
    const giveUp = (): void => resolve(undefined)
    const request = get(url, { agent: false, signal }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > maxAnswerLength) response.destroy()
      })
      response.on('end', () => resolve(response.statusCode === 200 ? parseAnswer(text) : undefined))
      response.on('error', giveUp)
      response.on('close', giveUp)
    })
    request.on('error', giveUp)
  })

const parseAnswer = (text: string): WorldQueue | undefined => {
  // The last chunk may exceed the limit by itself.
  if (text.length > maxAnswerLength) return undefined
  try {
    return answerSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
