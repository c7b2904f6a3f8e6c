import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { openApiDocument } from '#api/domain/endpoint/document.ts'
import { endpoints } from '#api/endpoints.ts'
import { renderClient } from './client/render.ts'

// `npm run client` writes client/operations.ts. With --check, it writes nothing and fails if the file is outdated.
const file = new URL('../client/operations.ts', import.meta.url)
const wanted = renderClient(openApiDocument(endpoints))

if (!process.argv.includes('--check')) writeFileSync(file, wanted)
else if (!existsSync(file) || readFileSync(file, 'utf8') !== wanted) {
  console.error('client/operations.ts is not what the routes of the API give. Run `npm run client`.')
  process.exitCode = 1
}
