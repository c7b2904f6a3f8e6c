import { defineConfig } from 'drizzle-kit'

export default defineConfig({
  dialect: 'postgresql',
  schema: ['./api/**/table.ts'],
  out: './api/platform/database/migrations',
  casing: 'snake_case',
})
