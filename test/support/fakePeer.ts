import { platform } from '#api/domain/access/claims.ts'
import { type Connection, createConnection, type Peer } from '#api/realtime/connection.ts'
import { createHealth } from '#api/realtime/health.ts'

/** Creates a fake peer that accepts all bytes until a test fills it. It records writes and calls. */
export const createFakePeer = () => {
  const written: Buffer[] = []
  const done: string[] = []
  let waiting: (() => void)[] = []
  let buffered = 0
  const peer: Peer = {
    buffered: () => buffered,
    write: (bytes) => void written.push(bytes),
    onDrain: (callback) => void waiting.push(callback),
    pause: () => void done.push('pause'),
    resume: () => void done.push('resume'),
    ping: () => void done.push('ping'),
    pong: () => void done.push('pong'),
    close: (code) => void done.push(`close ${code}`),
    terminate: () => void done.push('terminate'),
  }
  return {
    peer,
    done,
    /** Simulates a full socket buffer with that many bytes. */
    fill: (bytes: number): void => {
      buffered = bytes
    },
    /** Simulates an emptied socket buffer. */
    drain: (): void => {
      buffered = 0
      const callbacks = waiting
      waiting = []
      for (const callback of callbacks) callback()
    },
    /** Returns the parsed messages of all written frames. */
    messages: (): Record<string, unknown>[] => textsOf(Buffer.concat(written)).map((text) => JSON.parse(text)),
  }
}

const textsOf = (frames: Buffer): string[] => {
  const texts: string[] = []
  for (let at = 0; at < frames.length; ) {
    const short = frames[at + 1] ?? 0
    const from = at + (short < 126 ? 2 : short === 126 ? 4 : 10)
    const length = short < 126 ? short : short === 126 ? frames.readUInt16BE(at + 2) : frames.readUInt32BE(at + 6)
    texts.push(frames.toString('utf8', from, from + length))
    at = from + length
  }
  return texts
}

/** The scope of the test connections. */
export const aScope = { organizationId: 'org-1', projectId: 'prj-1', worldId: '' }

/** Creates a connection of the platform key to the peer. */
export const aConnection = (
  peer: Peer,
  more: Partial<Pick<Connection, 'principal' | 'scope' | 'token'>> = {},
): Connection =>
  createConnection({ peer, scope: aScope, principal: platform, token: undefined, health: createHealth(0, 0), ...more })
