import { expect, test } from 'vitest'
import { changelogSection, withSection } from './changelog.ts'

const commits = [
  { hash: 'a1', subject: 'feat(chart): install with Helm' },
  { hash: 'b2', subject: 'fix: answer 404 for a deleted world' },
  { hash: 'c3', subject: 'feat(api)!: remove the field color' },
  { hash: 'd4', subject: 'test(sync): cover restarts' },
  { hash: 'e5', subject: "Merge branch 'main'" },
]

test('the changelog lists what concerns users, breaking changes first', () => {
  expect(changelogSection('0.2.0', '2026-11-22', commits)).toBe(`## 0.2.0 (2026-11-22)

### Breaking changes

- **api**: remove the field color (c3)

### Features

- **chart**: install with Helm (a1)

### Fixes

- answer 404 for a deleted world (b2)`)
})

test('a new section comes first, and a repeated release replaces its section', () => {
  const first = withSection('', '## 0.1.0 (2026-11-01)\n\nold')
  const second = withSection(first, '## 0.2.0 (2026-11-22)\n\ndraft')
  expect(withSection(second, '## 0.2.0 (2026-11-23)\n\nfinal')).toBe(
    '# Changelog\n\n## 0.2.0 (2026-11-23)\n\nfinal\n\n## 0.1.0 (2026-11-01)\n\nold\n',
  )
})
