import * as z from 'zod'
import type { Sample } from '#shared/logs/sample.ts'
import { withDefined } from '#shared/optional.ts'
import { toNumber } from '#shared/quantities.ts'
import type { LogTarget } from './target.ts'

const amount = z.string().transform(toNumber).pipe(z.number().min(0))

const unitSeconds: Readonly<Record<string, number>> = { h: 3_600, m: 60, s: 1, ms: 1e-3, us: 1e-6, ns: 1e-9 }

/** The seconds of a duration as Go writes it, such as `1m2.5s`. */
const seconds = z
  .string()
  .regex(/^(\d+(\.\d+)?(h|m|s|ms|us|ns))+$/)
  .transform((text) =>
    [...text.matchAll(/([\d.]+)([a-z]+)/g)].reduce(
      (sum, [, n, unit = '']) => sum + Number(n) * (unitSeconds[unit] ?? 0),
      0,
    ),
  )

/** The fields of PodMetrics (metrics.k8s.io/v1beta1) that a sample is made of. */
const podMetrics = z.object({
  timestamp: z.iso.datetime({ offset: true }).transform(Date.parse),
  window: seconds,
  containers: z.array(z.object({ name: z.string(), usage: z.object({ cpu: amount, memory: amount }) })),
})

const round = (number: number): number => Math.round(number * 1_000) / 1_000

/**
 * Returns the sample of the container of a pod. Returns undefined if there is none of it, or only one of a predecessor with the
 * same name. Throws for an answer that is not as documented.
 */
export const toSample = ({ pod, role }: LogTarget, answer: unknown): Sample | undefined => {
  const { timestamp, window, containers } = podMetrics.parse(answer)
  const usage = containers.find(({ name }) => name === role)?.usage
  if (usage === undefined || timestamp < startedAtMs({ pod, role })) return undefined
  const { cpu, memory } = pod.spec?.containers?.find(({ name }) => name === role)?.resources?.limits ?? {}
  return {
    podUid: pod.metadata.uid ?? '',
    sampledAt: new Date(timestamp).toISOString(),
    windowSeconds: round(window),
    cpuMillicores: round(usage.cpu * 1_000),
    memoryBytes: Math.round(usage.memory),
    ...withDefined({
      cpuLimitMillicores: finite(cpu, (cores) => round(cores * 1_000)),
      memoryLimitBytes: finite(memory, Math.round),
    }),
  }
}

/** Returns the converted value of a quantity; undefined for none, and for one that is no number. */
const finite = (quantity: string | undefined, convert: (value: number) => number): number | undefined => {
  const value = toNumber(quantity ?? '')
  return Number.isFinite(value) ? convert(value) : undefined
}

/** The time is that of the node, which also takes the samples, or else that of the API server. */
const startedAtMs = ({ pod: { metadata, status }, role }: LogTarget): number => {
  const running = status?.containerStatuses?.find(({ name }) => name === role)?.state?.running
  return Date.parse(running?.startedAt ?? metadata.creationTimestamp ?? '')
}
