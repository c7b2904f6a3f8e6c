import { defineConfig } from 'vite'

// `npm run console` serves the sources with hot reload, and passes requests on to the API of `npm start`.
const api = process.env.ORRERY_API_URL ?? 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    target: 'es2024',
    // Fonts and pictures would be data URLs, which the policy of the console forbids.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The packages in the bundle, for the list of the image.
    license: { fileName: 'packages.json' },
  },
  server: {
    host: '127.0.0.1',
    // The API refuses sockets of pages of other origins.
    proxy: { '/api': { target: api, ws: true, changeOrigin: true, headers: { origin: new URL(api).origin } } },
  },
})
