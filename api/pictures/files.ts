import type { Context as HonoContext } from 'hono'
import { notFound } from '#api/http/problem.ts'
import type { ObjectStore } from '#api/objects/store.ts'
import { isId } from '#shared/ids.ts'

const pattern = /^\/api\/files\/(pictures\/([a-z0-9-]+)\/[0-9a-f]{64}\.webp)\/?$/

/** Serves a stored picture. Its name tells its content, so whoever has it once need never ask again. */
export const serveFile = async (objects: ObjectStore, c: HonoContext): Promise<Response> => {
  const [, name, owner = ''] = pattern.exec(c.req.path) ?? []
  if (name === undefined || !(isId('world', owner) || isId('organization', owner))) throw notFound()
  const etag = `"${name.slice(-69, -5)}"`
  const known = c.req.header('if-none-match') === etag
  const object = known ? undefined : await objects.get(name)
  if (object === undefined && !known) throw notFound()
  c.header('cache-control', 'public, max-age=31536000, immutable')
  c.header('etag', etag)
  c.header('cross-origin-resource-policy', 'cross-origin')
  if (object === undefined) return c.body(null, 304)
  return c.body(Buffer.from(object.bytes), 200, { 'content-type': object.contentType })
}
