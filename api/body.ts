import { createMiddleware } from 'hono/factory'
import { Problem } from './errors.ts'

const maxBodyBytes = 1024 * 1024
/** What is read and dropped of a body that is too large, so that its sender gets to read the answer. */
const maxDroppedBytes = 32 * 1024 * 1024

/**
 * Reads a body before anything looks at it, and refuses one over 1 MiB with a 413, however it is framed. The rest of a
 * refused body is dropped up to a limit: a connection that is closed under a sender takes the answer with it.
 */
export const limitBody = createMiddleware(async (c, next) => {
  const { body } = c.req.raw
  if (body === null) return next()
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.byteLength
    if (bytes <= maxBodyBytes) chunks.push(chunk)
    if (bytes > maxDroppedBytes) break
  }
  if (bytes > maxBodyBytes) throw new Problem('body_too_large', `A body has at most ${maxBodyBytes} bytes.`)
  c.req.raw = new Request(c.req.raw, { body: Buffer.concat(chunks) })
  await next()
})
