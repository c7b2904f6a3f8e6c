/** Returns the sum of the gauges in a process's metrics that match. */
export const metricOf = async (url: string, ...patterns: readonly RegExp[]): Promise<number> => {
  const text = await (await fetch(url)).text()
  const values = patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, value]) => Number(value)))
  return values.reduce((sum, value) => sum + value, 0)
}

/** Returns the value of the metric with this name, and with these labels if the name has any. It is 0 if there is none. */
export const readMetric = (url: string, name: string): Promise<number> =>
  metricOf(url, new RegExp(`^${name.replace(/[{}"]/g, '\\$&')} (\\S+)$`, 'gm'))

/** Metrics of waiting keys and of reconciles in progress. */
export const busy = [/^workqueue_depth\{.*\} (\d+)$/gm, /^controller_runtime_active_workers\{.*\} (\d+)$/gm] as const
