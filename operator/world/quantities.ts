/** Part of a memory limit written in Gi, as whole Mi and at least 1Mi. */
export const scaleMemory = (limit: string, ratio: number): string =>
  `${Math.max(1, Math.ceil(Number.parseFloat(limit) * 1024 * ratio))}Mi`

/** Part of a CPU limit written in cores or thousandths (`m`), as whole thousandths and at least 1m. */
export const scaleCpu = (limit: string, ratio: number): string => {
  const thousandths = limit.endsWith('m') ? Number.parseFloat(limit) : Number.parseFloat(limit) * 1000
  return `${Math.max(1, Math.ceil(thousandths * ratio))}m`
}
