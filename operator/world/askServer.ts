import { get } from 'node:http'
import { z } from 'zod'
import type { WorldQueue } from '#shared/resources/world.ts'

/** Asks a server by its URL how many are inside and how many wait; undefined where it gives no usable answer. */
export type AskServer = (url: string, signal: AbortSignal) => Promise<WorldQueue | undefined>

/** A server is a tenant's program: what it says is read as far as an honest answer could reach. */
const longestAnswer = 4_096
const count = z.int().min(0).max(1_000_000)
const answer = z.object({ active: count, queued: count })

/**
 * Asks by a plain GET on a connection of its own. There are thousands of servers, each of them asked too rarely for a
 * connection to be kept, and `fetch` takes several times as long for each. It follows no redirect, which would let a
 * tenant's program choose whom the operator asks, and never rejects.
 */
export const askServer: AskServer = (url, signal) => read(url, signal).catch(() => undefined)

/** Rejects where there can be no such URL: the address of a pod is what its node says. */
const read: AskServer = (url, signal) =>
  new Promise((resolve) => {
    const nothing = (): void => resolve(undefined)
    const request = get(url, { agent: false, signal }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => {
        text += chunk
        if (text.length > longestAnswer) response.destroy()
      })
      response.on('end', () => resolve(response.statusCode === 200 ? readAnswer(text) : undefined))
      response.on('error', nothing)
      response.on('close', nothing)
    })
    request.on('error', nothing)
  })

const readAnswer = (text: string): WorldQueue | undefined => {
  // The last piece may be too long by itself.
  if (text.length > longestAnswer) return undefined
  try {
    return answer.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}
