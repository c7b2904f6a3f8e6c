import type { ServerAnswer } from './answer.ts'

/** The maximum number of bytes of an answer, over all of its packets. */
export const maxAnswerBytes = 65_536

/** The next step after some bytes of a server: wait for more, send a packet, or take the answer. */
export type Next = { readonly kind: 'more' } | { readonly kind: 'send'; readonly packet: Uint8Array } | ServerAnswer

/**
 * One question to a server. `receive` takes a datagram, or with TCP the next bytes of the stream. It never throws, whatever the bytes are,
 * and allocates no more than it has received.
 */
export type Exchange = {
  readonly packet: Uint8Array
  receive(bytes: Uint8Array): Next
}

/** The facts that a question may contain. `random` returns a number from 0 to 1, without 1. */
export type Asked = { readonly host: string; readonly port: number; readonly random: () => number }

/** Begins a question of one protocol. */
export type BeginExchange = (asked: Asked) => Exchange
