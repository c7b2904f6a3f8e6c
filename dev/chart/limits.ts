import { limitTable } from '#api/domain/access/limits.ts'

const table = /(?<=\n)\| limit [\s\S]*?\n(?=\n)/

/** Returns docs/limits.md with the present table of limits. Throws if the page has none. */
export const withLimits = (page: string): string => {
  if (!table.test(page)) throw new Error('docs/limits.md has no table that begins with "| limit ".')
  return page.replace(table, () => `${lines().join('\n')}\n`)
}

const lines = (): string[] => [
  '| limit | default | variable | when it is reached |',
  '| --- | --- | --- | --- |',
  ...Object.entries(limitTable).map(([name, { variable, reached, ...limit }]) => {
    const value = 'unit' in limit ? format(limit.preset, limit.unit) : format(limit.preset)
    return `| \`${name}\` | ${value} | ${variable === undefined ? '' : `\`${variable}\``} | ${reached} |`
  }),
]

const format = (preset: number | boolean | readonly string[], unit?: 'bytes' | 'cores'): string => {
  if (typeof preset === 'boolean') return String(preset)
  if (typeof preset !== 'number') return preset.map((each) => `\`${each}\``).join(', ') || 'none'
  if (unit === undefined) return grouped(preset)
  if (unit === 'cores') return `${grouped(preset)} cores`
  return preset >= 2 ** 30 ? `${grouped(preset / 2 ** 30)} GiB` : `${grouped(preset / 2 ** 20)} MiB`
}

const grouped = (value: number): string => value.toLocaleString('en-US')
