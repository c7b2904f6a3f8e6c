import { expect, test } from 'vitest'
import { answerA2S, encodeInfo } from './a2s.ts'

/** The example of Valve's document. */
const documented = {
  protocol: 2,
  name: 'game2xs.com Counter-Strike Source #1',
  map: 'de_dust',
  folder: 'cstrike',
  game: 'Counter-Strike: Source',
  steamId: 240,
  players: 5,
  capacity: 16,
  bots: 4,
  version: '1.0.0.22',
}
const answer = Buffer.from(
  'ffffffff4902' +
    '67616d653278732e636f6d20436f756e7465722d537472696b6520536f7572636520233100' +
    '64655f6475737400' +
    '63737472696b6500' +
    '436f756e7465722d537472696b653a20536f7572636500' +
    'f000051004646c0000' +
    '312e302e302e323200',
  'hex',
)
const question = Buffer.from('ffffffff54536f7572636520456e67696e6520517565727900', 'hex')
const challenge = Buffer.from('0a08b15c', 'hex')
const ask = (datagram: Buffer) => answerA2S(datagram, challenge, () => documented)

test('an info has the bytes of the documented example', () => {
  expect(encodeInfo(documented).toString('hex')).toBe(answer.toString('hex'))
})

test('a question gets a challenge, and the info once it carries that', () => {
  expect(ask(question)?.toString('hex')).toBe('ffffffff410a08b15c')
  expect(ask(Buffer.concat([question, challenge]))).toEqual(answer)
  expect(ask(Buffer.concat([question, Buffer.alloc(4, 0xff)]))?.toString('hex')).toBe('ffffffff410a08b15c')
})

test('other datagrams get no answer', () => {
  for (const each of [Buffer.alloc(0), question.subarray(4), Buffer.concat([question, Buffer.alloc(5)])]) {
    expect(ask(each)).toBeUndefined()
  }
})
