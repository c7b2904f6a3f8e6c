import type { Client, ObjectInput } from '../client.ts'
import { KubeError } from '../errors.ts'
import { type Lease, leaseResource } from '../lease.ts'

/** A fault that a test injects into a request. */
type Fault = 'lost' | 'refused' | 'silent' | 'slow'

/**
 * Creates a fake API server with one Lease: versions increase, a replacement must name the newest one, and watches receive
 * each change. All clients share the Lease; each has its own faults.
 */
export const createLeaseServer = () => {
  let current: Lease | undefined
  let version = 0
  const watchers = new Set<(line: unknown) => void>()
  const tell = (type: string, lease: Lease): void => {
    for (const watcher of watchers) watcher({ type, object: structuredClone(lease) })
  }
  const store = (sent: ObjectInput): Lease => {
    version += 1
    const isNew = current === undefined
    current = {
      ...structuredClone(sent),
      metadata: { ...sent.metadata, uid: 'lease', resourceVersion: String(version) },
    }
    tell(isNew ? 'ADDED' : 'MODIFIED', current)
    return structuredClone(current)
  }
  const refuse = (status: number, reason: string): never => {
    throw new KubeError({ message: reason, status, reason })
  }
  const unused = (): never => refuse(405, 'MethodNotAllowed')
  return {
    current: (): Lease | undefined => current,
    /** Writes the Lease as another process would. */
    put: (spec: Lease['spec'] & object): void => {
      store({ apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'x' }, spec })
    },
    remove: (): void => {
      if (current !== undefined) tell('DELETED', current)
      current = undefined
    },
    /** Creates a client with faults: `lost` stores a write but fails its response, `slow` delays the response. */
    client: () => {
      const faults: { get?: Fault; write?: Fault; watch?: boolean } = {}
      const written: Lease[] = []
      const slow: (() => void)[] = []
      const silence = <T>(): Promise<T> => new Promise<T>(() => {})
      const write = async (sent: ObjectInput): Promise<Lease> => {
        if (faults.write === 'silent') return silence()
        if (faults.write === 'refused') return refuse(500, 'InternalError')
        const stored = store(sent)
        written.push(stored)
        if (faults.write === 'slow') await new Promise<void>((resolve) => slow.push(resolve))
        return faults.write === 'lost' ? refuse(0, 'Unreachable') : stored
      }
      const client: Client<Lease> = {
        resource: leaseResource,
        get: async () => {
          if (faults.get === 'silent') return silence()
          if (faults.get === 'refused') return refuse(500, 'InternalError')
          return current === undefined ? refuse(404, 'NotFound') : structuredClone(current)
        },
        list: async () => ({ items: current ? [structuredClone(current)] : [], resourceVersion: String(version) }),
        create: async (sent) => (current === undefined ? write(sent) : refuse(409, 'AlreadyExists')),
        replace: async (sent) => {
          if (current === undefined) return refuse(404, 'NotFound')
          if (sent.metadata.resourceVersion !== current.metadata.resourceVersion) return refuse(409, 'Conflict')
          return write(sent)
        },
        apply: unused,
        applyStatus: unused,
        patch: unused,
        delete: unused,
        watch: async function* ({ signal }) {
          const lines: unknown[] = []
          let wake = (): void => {}
          const watcher = (line: unknown): void => {
            if (faults.watch !== false) lines.push(line)
            wake()
          }
          watchers.add(watcher)
          signal.addEventListener('abort', () => wake(), { once: true })
          while (!signal.aborted) {
            const line = lines.shift()
            if (line !== undefined) yield line
            else
              await new Promise<void>((resolve) => {
                wake = resolve
              })
          }
          watchers.delete(watcher)
        },
      }
      const answer = (): void => {
        for (const each of slow.splice(0)) each()
      }
      return { client, faults, written, answer }
    },
  }
}
