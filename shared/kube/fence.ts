import { KubeError } from './errors.ts'
import type { Request, Transport } from './transport.ts'

/** The permission of this process to write, checked for each write. */
export type Fence = {
  /** Returns the reason why writes are refused now, or undefined while they are allowed. */
  refusal(): string | undefined
  /** Aborted when writes are refused for good. */
  readonly closed: AbortSignal
}

/**
 * Returns a transport that sends writes only while the fence allows them. The fence is checked before the call and again
 * before the first byte is sent; when it closes, writes in progress are aborted. A refused write is a `KubeError` with
 * reason Fenced. Reads and watches always pass, so that a standby keeps its caches warm.
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

/** AbortSignal.any would leak: it stays registered at a signal that lives as long as the process. */
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
