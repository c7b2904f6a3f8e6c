import * as z from 'zod'

/** The reasons for which the operator cannot give a sample of a pod that it knows, with the HTTP status of its answer. */
export const sampleRefusals = {
  /** The cluster has no sample of the pod yet. */
  NoSample: 409,
  /** The API server does not answer, or not as metrics.k8s.io does. */
  SampleUnreadable: 502,
  /** The API server has metrics.k8s.io, whose server does not answer. */
  MetricsDown: 503,
  /** The operator has no right to read samples in the namespace. */
  MetricsNotAllowed: 501,
  /** The API server does not have metrics.k8s.io. */
  MetricsNotInstalled: 501,
} as const

/** A reason for which the operator cannot give a sample. */
export type SampleRefusal = keyof typeof sampleRefusals

/** The maximum size of a sample, as the operator sends it. */
export const maxSampleBytes = 4_096

const amount = z.number().min(0)

/** The CPU and memory that one container used at one time. */
export const sample = z.object({
  podUid: z.string().min(1).max(64),
  /** ISO 8601, UTC, milliseconds. */
  sampledAt: z.iso.datetime({ precision: 3 }),
  /** The time over which the CPU was averaged. */
  windowSeconds: amount,
  cpuMillicores: amount,
  /** Absent without a limit, as is that of the memory. */
  cpuLimitMillicores: amount.exactOptional(),
  memoryBytes: amount,
  memoryLimitBytes: amount.exactOptional(),
})
export type Sample = z.output<typeof sample>
