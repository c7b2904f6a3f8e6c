import type { Usage } from './cluster.ts'

/** Returns the requests per world between two readings, by kind, and the CPU time per world. */
export const describeRequests = (start: Usage, end: Usage, worlds: number): string => {
  const each = (of: (usage: Usage) => number): string => ((of(end) - of(start)) / worlds).toFixed(2)
  const created = each(({ posts, events }) => posts - events)
  const reads = `${each(({ gets }) => gets)} reads, ${each(({ events }) => events)} events`
  const cpuMs = (((end.cpuSeconds - start.cpuSeconds) / worlds) * 1_000).toFixed(1)
  return `${created} created, ${each(({ patches }) => patches)} statuses, ${each(({ deletes }) => deletes)} deleted, ${reads}; ${cpuMs} ms of CPU`
}
