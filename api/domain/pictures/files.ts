import type { Context as HonoContext } from 'hono'
import type { Env } from '#api/domain/endpoint/serve.ts'
import { answer } from '#api/platform/http/answer.ts'
import { isNamed } from '#api/platform/http/entityTag.ts'
import { holdOrRefuse } from '#api/platform/http/inFlight.ts'
import { notFound } from '#api/platform/http/problem.ts'
import type { ObjectStore } from '#api/platform/objects/store.ts'
import { isId } from '#shared/ids.ts'

const filePattern = /^\/api\/files\/(pictures\/([a-z0-9-]+)\/[0-9a-f]{64}\.webp)\/?$/

/** Serves a stored picture. Its name contains the hash of its content, so caches may keep it for ever. */
export const serveFile = async (objects: ObjectStore, c: HonoContext<Env>): Promise<Response> => {
  const [, name, owner = ''] = filePattern.exec(c.req.path) ?? []
  if (name === undefined || !(isId('world', owner) || isId('organization', owner))) throw notFound()
  const etag = `"${name.slice(-69, -5)}"`
  const ifNoneMatch = c.req.header('if-none-match')
  // Only the store knows whether the object of `*` exists.
  const isUnmodified = ifNoneMatch !== '*' && isNamed(ifNoneMatch, etag)
  const object = isUnmodified ? undefined : await objects.get(name)
  if (object === undefined && !isUnmodified) throw notFound()
  const lease = c.get('lease')
  if (lease && object) holdOrRefuse(lease, object.bytes.byteLength)
  const headers = {
    'cache-control': 'public, max-age=31536000, immutable',
    etag,
    'cross-origin-resource-policy': 'cross-origin',
  }
  if (object === undefined) return answer(c, null, { status: 304, headers })
  return answer(c, Buffer.from(object.bytes), { headers: { ...headers, 'content-type': object.contentType } })
}
