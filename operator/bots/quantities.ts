const memoryUnits: Record<string, number> = {
  m: 0.001,
  '': 1,
  k: 1e3,
  Ki: 1024,
  M: 1e6,
  Mi: 1024 ** 2,
  G: 1e9,
  Gi: 1024 ** 3,
}

/** Part of a memory limit, in whole bytes, at least one and never above the limit; any quantity of the REST contract. */
export const partOfMemory = (limit: string, ratio: number): string => {
  const [, number = '', unit = ''] = /^([\d.]+)(\D*)$/.exec(limit) ?? []
  const bytes = Number(number) * (memoryUnits[unit] ?? 1)
  const part = Math.max(1, Math.ceil(bytes * ratio))
  return part >= bytes ? limit : String(part)
}

/** Part of a CPU limit, in whole thousandths, at least one and never above the limit. */
export const partOfCpu = (limit: string, ratio: number): string => {
  const thousandths = limit.endsWith('m') ? Number.parseFloat(limit) : Number.parseFloat(limit) * 1000
  const part = Math.max(1, Math.ceil(thousandths * ratio))
  return part >= thousandths ? limit : `${part}m`
}
