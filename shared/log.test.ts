import { DrizzleQueryError } from 'drizzle-orm/errors'
import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const logged = (error: Error): string => {
  const lines: string[] = []
  const log = createLog({ name: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } })
  log.error({ err: error }, 'it failed')
  return lines.join('')
}

test('a failed query is logged with its text and its cause, and without its parameters, which may be secrets', () => {
  const failed = new DrizzleQueryError('select 1 where key = $1', ['sec\nret', '$&'], new Error('the server is away'))
  for (const error of [failed, new Error('a request failed', { cause: failed })]) {
    const line = logged(error)
    expect(line).toContain('select 1 where key = $1')
    expect(line).toContain('the server is away')
    expect(line).not.toContain('sec')
  }
})
