import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { bundleProduct } from './images/bundle.ts'

// `npm run build` bundles API, operator and console into dist/, as the image has them.
const dist = fileURLToPath(new URL('../dist', import.meta.url))
rmSync(dist, { recursive: true, force: true })
await bundleProduct(dist)
