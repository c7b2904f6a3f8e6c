import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const project = fileURLToPath(new URL('../..', import.meta.url))
const files = globSync('{api,bench,client,console,dev,examples,operator,shared,test}/**/*.{ts,tsx}', { cwd: project })
const openings =
  /(?:\/\*\*\s+(?:\*\s+)?|\b(?:describe\(|meta\(\{ description: |summary: )['"`])(?:What|Whether|How|Where|Who|Whose|Whom|Why|Which)\b.*/g

test('doc comments and descriptions begin with a verb or a noun phrase', () => {
  expect(files.length).toBeGreaterThan(500)
  const found = files
    .filter((file) => !file.endsWith('comments.test.ts'))
    .flatMap((file) =>
      (readFileSync(`${project}${file}`, 'utf8').match(openings) ?? []).map((text) => `${file}: ${text}`),
    )
  expect(found).toEqual([])
})
