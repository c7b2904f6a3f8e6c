import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { patchCommands } from './command.ts'

const world = { organizationId: 'org-1', projectId: 'prj-1', documentId: 'wld-1' }

test('the commands have the body of the PATCH, which no text of it can leave', () => {
  const patch = { name: `it's $& $(id) \` "\\ \u202e` }
  const { curl, kubectl, TypeScript } = patchCommands(world, patch, '"5.a"')
  const printed = execFileSync('bash', ['-c', curl.replace('curl -X PATCH', 'printf "%s\\n"')]).toString()
  expect(JSON.parse(printed.split('\n').find((line) => line.startsWith('{')) ?? '')).toEqual(patch)
  expect(printed).toContain('if-match: "5.a"\n')
  expect(curl).not.toContain('\u202e')
  expect(TypeScript).toContain(String.raw`headers: { 'if-match': "\"5.a\"" }`)
  expect(TypeScript).toContain(`body: ${JSON.stringify(patch).replace('\u202e', String.raw`\u202e`)} })`)
  expect(kubectl).toContain('kubectl edit')
})

test('a long body is left out', () => {
  expect(patchCommands(world, { description: 'a'.repeat(9_000) }, '').curl).toContain("-d '{ … }'")
})
