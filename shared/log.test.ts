import { spawnSync } from 'node:child_process'
import { DrizzleQueryError } from 'drizzle-orm/errors'
import { expect, test } from 'vitest'
import { createLog } from './log.ts'

const logLineOf = (error: Error): string => {
  const lines: string[] = []
  const log = createLog({ name: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } })
  log.error({ err: error }, 'it failed')
  return lines.join('')
}

test('logs a failed query with its text and cause, but without its parameters', () => {
  const failed = new DrizzleQueryError('select 1 where key = $1', ['sec\nret', '$&'], new Error('the server is away'))
  for (const error of [failed, new Error('a request failed', { cause: failed })]) {
    const line = logLineOf(error)
    expect(line).toContain('select 1 where key = $1')
    expect(line).toContain('the server is away')
    expect(line).not.toContain('sec')
  }
})

test('redacts a credential by the name of its field', () => {
  const lines: string[] = []
  const log = createLog({ name: 'test', level: 'info', destination: { write: (line) => void lines.push(line) } })
  const headers = { 'x-api-key': 'hidden', authorization: 'hidden', 'x-realtime-ticket': 'hidden' }
  log.info({ headers, apiKey: 'hidden', ticket: 'hidden' }, 'a request')
  expect(lines.join()).toContain('[redacted]')
  expect(lines.join()).not.toContain('hidden')
})

test('logs the missing rights of a namespace, and each that is missing in the cluster, once a minute with their number', () => {
  const lines: string[] = []
  let nowMs = 0
  const destination = { write: (line: string) => void lines.push(line) }
  const log = createLog({ name: 'test', level: 'info', destination, monotonic: () => nowMs })
  const refused = (verb: string, namespace: string) =>
    new Error(
      `pods "a" is forbidden: User "o" cannot ${verb} resource "pods" in API group "" in the namespace "${namespace}"`,
    )
  for (let at = 0; at < 500; at += 1) {
    log.warn({ key: at, err: refused(at % 2 === 0 ? 'create' : 'delete', 'home') }, 'it failed')
    log.child({ controller: 'c' }).info({ why: refused('get', 'other').message }, 'it failed')
  }
  for (const resource of ['pods', 'nodes', 'pods']) {
    log.warn({ why: `User "o" cannot list resource "${resource}" in API group "" at the cluster scope` }, resource)
  }
  nowMs = 60_000
  log.warn({ err: refused('create', 'home') }, 'it failed')
  log.warn({ err: new Error('pods "a" is forbidden: exceeded quota') }, 'it failed')
  log.info({}, 'it works')
  const found = lines
    .map((line) => JSON.parse(line))
    .map(({ missing, msg }) => [missing?.namespace, missing?.count, msg])
  expect(found).toEqual([
    ['home', 1, 'it failed'],
    ['other', 1, 'it failed'],
    ['', 1, 'pods'],
    ['', 1, 'nodes'],
    ['home', 500, 'it failed'],
    [undefined, undefined, 'it failed'],
    [undefined, undefined, 'it works'],
  ])
})

test('writes every line to standard output in order, whether the process exits, throws or returns', () => {
  const loggedNumbers = (ends: string, count: number): number[] => {
    const program = `
      import { createLog } from '#shared/log.ts'
      const log = createLog({ name: 'test', level: 'info' })
      const some = (from) => { for (let at = from; at < from + ${count / 2}; at += 1) log.info({ at }) }
      some(0)
      setTimeout(() => { some(${count / 2}); ${ends} })`
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    return stdout.split('\n').flatMap((line) => (line === '' ? [] : [(JSON.parse(line) as { at: number }).at]))
  }
  for (const ends of ['', 'process.exit(1)', "throw new Error('unforeseen')"]) {
    expect(loggedNumbers(ends, 4_000), ends).toEqual([...Array(4_000).keys()])
  }
})
