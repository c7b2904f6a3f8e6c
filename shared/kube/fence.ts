import { KubeError } from './errors.ts'
import type { Request, Transport } from './transport.ts'

/** What decides, at each moment, whether this process may write. */
export type Fence = {
  /** Why nothing may be written now, as a sentence; undefined while writing is allowed. */
  refusal(): string | undefined
  /** Aborted when nothing may ever be written again. */
  readonly closed: AbortSignal
}

/**
 * The transport with every write behind the fence: it is asked before the call and again right before the first byte is
 * sent, and once it is closed, what is under way is broken off. A refused write is a `KubeError` of reason Fenced.
 * Reads and watches pass, so that a standby keeps its caches warm.
 */
export const fenceTransport = (transport: Transport, fence: Fence): Transport => ({
  ...transport,
  request: async <T>(request: Request): Promise<T> => {
    if (request.method === 'GET') return transport.request<T>(request)
    const guard = (): KubeError | undefined => {
      const refusal = fence.refusal()
      return refusal === undefined ? undefined : fenced(request, refusal)
    }
    const refused = guard()
    if (refused !== undefined) throw refused
    const either = eitherOf(fence.closed, request.signal)
    try {
      return await transport.request<T>({ ...request, guard, signal: either.signal })
    } finally {
      either.clear()
    }
  },
})

const fenced = (request: Request, refusal: string): KubeError =>
  new KubeError({ message: `${request.method} ${request.path}: not sent: ${refusal}`, status: 0, reason: 'Fenced' })

/** AbortSignal.any would hold on to a signal that lives as long as the process. */
const eitherOf = (...signals: (AbortSignal | undefined)[]): { signal: AbortSignal; clear: () => void } => {
  const controller = new AbortController()
  const abort = (): void => controller.abort()
  for (const signal of signals) {
    if (signal?.aborted) abort()
    else signal?.addEventListener('abort', abort)
  }
  return {
    signal: controller.signal,
    clear: () => {
      for (const signal of signals) signal?.removeEventListener('abort', abort)
    },
  }
}
