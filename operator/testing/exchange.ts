import type { Exchange, Next } from '#operator/world/query/exchange.ts'

/** Returns the bytes of a dump in hexadecimal digits. White space is ignored. */
export const hex = (dump: string): Uint8Array => {
  const digits = dump.replace(/\s/g, '')
  return Uint8Array.from({ length: digits.length / 2 }, (_, at) =>
    Number.parseInt(digits.slice(at * 2, at * 2 + 2), 16),
  )
}

/** Gives an exchange packets until it has its answer, as a socket does. Returns the last step and the packets that were sent. */
export const converse = (exchange: Exchange, packets: Iterable<Uint8Array>): { last: Next; sent: Uint8Array[] } => {
  const sent = [exchange.packet]
  let last: Next = { kind: 'more' }
  for (const packet of packets) {
    last = exchange.receive(packet)
    if (last.kind === 'send') sent.push(last.packet)
    if (last.kind === 'report' || last.kind === 'fault') break
  }
  return { last, sent }
}
