import { fileURLToPath } from 'node:url'
import { packClient } from './client/package.ts'

// `npm run client:build` packs the client as an npm package into dist/client.
const checkout = fileURLToPath(new URL('..', import.meta.url))
process.stdout.write(`${packClient({ checkout, outDir: fileURLToPath(new URL('../dist/client', import.meta.url)) })}\n`)
