import type { Clock } from '#shared/clock.ts'
import { KubeError } from '#shared/kube/errors.ts'
import type { Transport } from '#shared/kube/transport.ts'
import type { Log } from '#shared/log.ts'
import type { Sample, SampleRefusal } from '#shared/logs/sample.ts'
import { toSample } from './sample.ts'
import type { LogTarget } from './target.ts'

/** The limit for the answer of the API server. */
const readMs = 5_000
const maxAnswerBytes = 64 * 1024
/** The time for which a sample, or its absence, is kept. Clusters take one every 15 s or less often. */
const sampleKeptMs = 5_000
/** The time for which a metrics API is not asked again after it failed. */
const failureKeptMs = 15_000
/** The time for which a reason is kept that only an administrator can remove. */
const reasonKeptMs = 60_000
const maxKept = 1_000
/** The maximum number of reads at the same time, of which one namespace has half. */
const maxReads = 32

/** A sample, or the reason for which there is none. */
export type SampleAnswer = { readonly sample: Sample } | { readonly refusal: SampleRefusal | 'Busy' }

/** The newest samples of metrics.k8s.io. */
export type Samples = {
  /** Returns the newest sample of a pod. All callers share one read every 5 s. It takes about 5 s at most and never throws. */
  read(target: LogTarget): Promise<SampleAnswer>
}

/** Creates the source of samples of one API server. */
export const createSamples = ({
  transport,
  clock,
  log,
}: {
  transport: Pick<Transport, 'request'>
  clock: Clock
  log: Log
}): Samples => {
  const kept = new Map<string, { answer: SampleAnswer; untilMs: number }>()
  const reads = new Map<string, { namespace: string; answer: Promise<SampleAnswer> }>()
  const find = (scope: string): SampleAnswer | undefined => {
    const entry = kept.get(scope)
    return entry !== undefined && clock.monotonic() < entry.untilMs ? entry.answer : undefined
  }
  const keep = (scope: string, answer: SampleAnswer, keptMs: number): void => {
    kept.delete(scope)
    if (kept.size >= maxKept) kept.delete(kept.keys().next().value ?? '')
    kept.set(scope, { answer, untilMs: clock.monotonic() + keptMs })
  }
  const readOne = async (target: LogTarget, scopes: Scopes): Promise<SampleAnswer> => {
    try {
      const answer = await ask(transport, target)
      keep(scopes.pod, answer, sampleKeptMs)
      return answer
    } catch (error) {
      const refusal = refusalOf(error)
      const { scope, keptMs } = keepingOf(refusal, error)
      const isKnown = refusal === 'NoSample' || find(scopes[scope]) !== undefined
      if (!isKnown) log.warn({ pod: scopes.pod, why: messageOf(error) }, 'a sample could not be read')
      keep(scopes[scope], { refusal }, keptMs)
      return { refusal }
    }
  }
  return {
    read: async (target) => {
      const { uid = '', namespace = '', name } = target.pod.metadata
      const scopes = { cluster: '', namespace: `${namespace}/`, pod: `${namespace}/${name}/${uid}` }
      const known = find(scopes.cluster) ?? find(scopes.namespace) ?? find(scopes.pod)
      if (known !== undefined) return known
      const present = reads.get(scopes.pod)
      if (present !== undefined) return present.answer
      const own = [...reads.values()].filter((read) => read.namespace === namespace)
      if (reads.size >= maxReads || own.length >= maxReads / 2) return { refusal: 'Busy' }
      const answer = readOne(target, scopes).finally(() => reads.delete(scopes.pod))
      reads.set(scopes.pod, { namespace, answer })
      return answer
    },
  }
}

/** The keys under which an answer can be kept, by what it holds for. */
type Scopes = Readonly<Record<'cluster' | 'namespace' | 'pod', string>>

const keepingOf = (refusal: SampleRefusal, error: unknown): { scope: keyof Scopes; keptMs: number } => {
  if (refusal === 'MetricsNotInstalled') return { scope: 'cluster', keptMs: reasonKeptMs }
  // The role is bound in each namespace.
  if (refusal === 'MetricsNotAllowed') return { scope: 'namespace', keptMs: reasonKeptMs }
  return isFailure(error) ? { scope: 'cluster', keptMs: failureKeptMs } : { scope: 'pod', keptMs: sampleKeptMs }
}

/** Reports whether the metrics API failed, and not only its answer for one pod. */
const isFailure = (error: unknown): boolean =>
  error instanceof KubeError && (error.status >= 500 || error.reason === 'Timeout' || error.reason === 'Unreachable')

const ask = async (transport: Pick<Transport, 'request'>, target: LogTarget): Promise<SampleAnswer> => {
  const { namespace = '', name } = target.pod.metadata
  const path = `/apis/metrics.k8s.io/v1beta1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}`
  const answer = await transport.request({ method: 'GET', path, timeoutMs: readMs, maxAnswerBytes })
  const sample = toSample(target, answer)
  return sample === undefined ? { refusal: 'NoSample' } : { sample }
}

/** Only the 404 of a server that has metrics.k8s.io has a reason. The API server answers 503 for a server of it that is down. */
const refusalOf = (error: unknown): SampleRefusal => {
  if (!(error instanceof KubeError)) return 'SampleUnreadable'
  if (error.status === 404) return error.reason === 'NotFound' ? 'NoSample' : 'MetricsNotInstalled'
  if (error.status === 403) return 'MetricsNotAllowed'
  return error.status === 503 ? 'MetricsDown' : 'SampleUnreadable'
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
