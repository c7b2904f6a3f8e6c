/** Memory limits of scaling profiles: a number of Mi or Gi with at most three decimals. */
export const memoryLimitPattern = /^\d{1,9}(\.\d{1,3})?(Mi|Gi)$/
/** CPU limits of scaling profiles: cores with at most three decimals, or millicores. */
export const cpuLimitPattern = /^(\d{1,9}m|\d{1,6}(\.\d{1,3})?)$/

/** Returns a part of a memory limit in Mi or Gi, rounded up to whole Mi, at least 1Mi. */
export const scaleMemory = (limit: string, ratio: number): string => {
  const mebibytes = Number.parseFloat(limit) * (limit.endsWith('Gi') ? 1024 : 1)
  return `${Math.max(1, Math.ceil(mebibytes * ratio))}Mi`
}

/** Returns a part of a CPU limit, rounded up to whole millicores, at least 1m and never above the limit. */
export const scaleCpu = (limit: string, ratio: number): string => {
  const millicores = limit.endsWith('m') ? Number.parseFloat(limit) : Number.parseFloat(limit) * 1000
  const part = Math.max(1, Math.ceil(millicores * ratio))
  return part >= millicores ? limit : `${part}m`
}

const units: Record<string, number> = {
  n: 1e-9,
  u: 1e-6,
  m: 0.001,
  '': 1,
  k: 1e3,
  Ki: 2 ** 10,
  M: 1e6,
  Mi: 2 ** 20,
  G: 1e9,
  Gi: 2 ** 30,
  T: 1e12,
  Ti: 2 ** 40,
  P: 1e15,
  Pi: 2 ** 50,
  E: 1e18,
  Ei: 2 ** 60,
}

/** Returns the value of a Kubernetes quantity in its base unit, such as cores or bytes; NaN for other text. */
export const toNumber = (quantity: string): number => {
  const [, number = '', unit = ''] = /^([\d.]+(?:[eE][+-]?\d+)?)([a-zA-Z]*)$/.exec(quantity) ?? []
  return number === '' ? Number.NaN : Number(number) * (units[unit] ?? Number.NaN)
}

/** Returns a part of any Kubernetes memory limit, rounded up to whole bytes, at least 1 and never above the limit. */
export const scaleMemoryBytes = (limit: string, ratio: number): string => {
  const bytes = toNumber(limit)
  const part = Math.max(1, Math.ceil(bytes * ratio))
  return part >= bytes ? limit : String(part)
}
