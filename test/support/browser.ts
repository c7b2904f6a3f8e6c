import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'esbuild'
import { chromium } from 'playwright-core'
import { findChromium } from '#dev/programs.ts'

/** Serves a page that runs the module, as a bundler makes it for browsers. */
const servePage = async (module: string) => {
  const { outputFiles } = await build({
    entryPoints: [module],
    bundle: true,
    write: false,
    logLevel: 'silent',
    platform: 'browser',
    format: 'esm',
    target: 'es2024',
  })
  const script = outputFiles[0]?.text ?? ''
  const server = createServer(({ url }, response) => {
    const isScript = url === '/page.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html')
    response.end(isScript ? script : '<!doctype html><title>Page</title><script type="module" src="/page.js"></script>')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return { server, port: (server.address() as AddressInfo).port }
}

/**
 * Starts a headless browser and serves a page on two origins. The page runs the module, and its errors are reported
 * with those of the test. With a domain, all hosts below it are this machine, with any certificate.
 */
export const openBrowser = async (module: string, { domain }: { domain?: string } = {}) => {
  const { server, port } = await servePage(module)
  const browser = await chromium.launch({
    executablePath: findChromium(process.env) ?? 'chromium',
    args: domain === undefined ? [] : [`--host-resolver-rules=MAP *.${domain} 127.0.0.1`],
  })
  const origin = `http://127.0.0.1:${port}`
  return {
    origin,
    otherOrigin: `http://localhost:${port}`,
    /** Returns the loaded page and its errors. */
    page: async (from: string) => {
      const page = await browser.newPage({ ignoreHTTPSErrors: domain !== undefined })
      const errors: string[] = []
      page.on('pageerror', (error) => errors.push(String(error)))
      await page.goto(from)
      return { page, errors }
    },
    close: async (): Promise<void> => {
      await browser.close()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}
