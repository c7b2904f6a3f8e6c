import { readFile } from 'node:fs/promises'
import type { Context as HonoContext } from 'hono'
import { type Answerable, type AnswerHeaders, answer } from './answer.ts'
import { Problem } from './problem.ts'

/** The served files of the package. They are read as files, since importing the package would load it into memory. */
const files = {
  'swagger-ui.css': {
    url: () => import.meta.resolve('swagger-ui-dist/swagger-ui.css'),
    type: 'text/css; charset=utf-8',
  },
  'swagger-ui-bundle.js': {
    url: () => import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js'),
    type: 'text/javascript; charset=utf-8',
  },
} as const

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Orrery API</title>
<link rel="stylesheet" href="/api/docs/swagger-ui.css">
</head>
<body>
<div id="reference"></div>
<script src="/api/docs/swagger-ui-bundle.js"></script>
<script src="/api/docs/start.js"></script>
</body>
</html>
`
const start = `SwaggerUIBundle({ url: '/api/openapi.json', dom_id: '#reference', deepLinking: true, persistAuthorization: true, validatorUrl: null })\n`

/** The page may load its own files, inline styles and data URLs of images. */
const policy = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

/** The contents of the files that were served. All responses share them. */
const contents = new Map<keyof typeof files, Promise<Buffer<ArrayBuffer>>>()

const contentOf = (name: keyof typeof files): Promise<Buffer<ArrayBuffer>> => {
  const known = contents.get(name)
  if (known !== undefined) return known
  const reading = readFile(new URL(files[name].url()))
  contents.set(name, reading)
  reading.catch(() => contents.delete(name))
  return reading
}

/** Serves the API reference page and its files. The page loads nothing from other hosts. */
export const referencePage = async (c: Answerable & Pick<HonoContext, 'req'>): Promise<Response> => {
  const file = c.req.param('file')
  const send = (body: string | Uint8Array<ArrayBuffer>, type: string, headers?: AnswerHeaders): Response =>
    answer(c, body, { headers: { 'content-security-policy': policy, 'content-type': type, ...headers } })
  if (file === undefined) return send(page, 'text/html; charset=utf-8')
  if (file === 'start.js') return send(start, files['swagger-ui-bundle.js'].type)
  if (file !== 'swagger-ui.css' && file !== 'swagger-ui-bundle.js') {
    throw new Problem('not_found', 'The reference page has no such file.')
  }
  return send(await contentOf(file), files[file].type, { 'cache-control': 'public, max-age=3600' })
}
