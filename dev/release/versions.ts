import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const versionPattern = /^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/

/** Throws unless the text is a version of Semantic Versioning 2.0.0 without build metadata. */
export const requireVersion = (text: string | undefined): string => {
  if (text === undefined || !versionPattern.test(text)) {
    throw new Error(`A release needs a version such as 0.2.0: npm run release -- <version> [--dry-run]. It is ${text}.`)
  }
  return text
}

/** Sets the version of a checkout in package.json, its lock file and the chart. */
export const setVersions = (dir: string, version: string): void => {
  for (const [file, pattern, replacement] of [
    ['package.json', /^ {2}"version": ".*"/m, `  "version": "${version}"`],
    ['package-lock.json', /^ {2}"version": ".*"/m, `  "version": "${version}"`],
    ['package-lock.json', /^ {6}"version": ".*"/m, `      "version": "${version}"`],
    ['charts/orrery/Chart.yaml', /^version: .*$/m, `version: ${version}`],
    ['charts/orrery/Chart.yaml', /^appVersion: .*$/m, `appVersion: ${version}`],
  ] as const) {
    const path = join(dir, file)
    const text = readFileSync(path, 'utf8')
    if (!pattern.test(text)) throw new Error(`${file} has no version to set.`)
    writeFileSync(path, text.replace(pattern, replacement))
  }
}
