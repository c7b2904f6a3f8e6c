/** Memory limits as profiles write them: whole or decimal, in Mi or Gi. */
export const memoryLimitPattern = /^\d{1,9}(\.\d{1,3})?(Mi|Gi)$/
/** CPU limits as profiles write them: cores, whole or decimal, or thousandths. */
export const cpuLimitPattern = /^(\d{1,9}m|\d{1,6}(\.\d{1,3})?)$/

/** Part of a memory limit written in Mi or Gi, as whole Mi and at least 1Mi. */
export const scaleMemory = (limit: string, ratio: number): string => {
  const mebibytes = Number.parseFloat(limit) * (limit.endsWith('Gi') ? 1024 : 1)
  return `${Math.max(1, Math.ceil(mebibytes * ratio))}Mi`
}

/** Part of a CPU limit written in cores or thousandths (`m`), as whole thousandths and at least 1m. */
export const scaleCpu = (limit: string, ratio: number): string => {
  const thousandths = limit.endsWith('m') ? Number.parseFloat(limit) : Number.parseFloat(limit) * 1000
  return `${Math.max(1, Math.ceil(thousandths * ratio))}m`
}
