import { expect, test } from 'vitest'
import { createFakeClock } from '#test/support/fakeClock.ts'
import { eventEncoding, textEncoding } from './encoding.ts'
import { streamLog } from './stream.ts'

const limits = { durationMs: 60_000, bytesPerSecond: 10, burstBytes: 20, keepAliveMs: 15_000 }
const text = (chunks: Uint8Array[]): string => Buffer.concat(chunks).toString()

/** A log that tests write to. Ending the signal makes a pending read fail, as it does with a connection. */
const aLog = () => {
  const reading = new AbortController()
  const queue: (Buffer | undefined)[] = []
  let wake = (): void => undefined
  const chunks = (async function* () {
    for (;;) {
      while (queue.length === 0) {
        await new Promise<void>((resolve, reject) => {
          if (reading.signal.aborted) reject(new Error('aborted'))
          wake = resolve
          reading.signal.addEventListener('abort', () => reject(new Error('aborted')))
        })
      }
      const next = queue.shift()
      if (next === undefined) return
      yield next
    }
  })()
  const put = (chunk: Buffer | undefined): void => {
    queue.push(chunk)
    wake()
  }
  return { chunks, write: (value: string) => put(Buffer.from(value)), close: () => put(undefined), reading }
}

const start = (encoding = textEncoding()) => {
  const clock = createFakeClock()
  const log = aLog()
  let ends = 0
  const onEnd = (): void => {
    ends += 1
    log.reading.abort()
  }
  const { body, end } = streamLog(log.chunks, { encoding, limits, clock, onEnd })
  const reader = body.getReader()
  const read = async (): Promise<string | undefined> => {
    const { value } = await reader.read()
    return value === undefined ? undefined : text([value])
  }
  return { clock, log, end, reader, read, ends: () => ends }
}

test('sends what the log has, and ends with it', async () => {
  const { log, read, ends } = start()
  log.write('a')
  expect(await read()).toBe('a')
  log.close()
  expect(await read()).toBeUndefined()
  expect(ends()).toBe(1)
})

test('a reader that disconnects ends the log at once, even if the log is silent', async () => {
  const { log, reader, ends } = start()
  await reader.cancel()
  expect(log.reading.signal.aborted).toBe(true)
  expect(ends()).toBe(1)
})

test('a log is ended after the longest duration, with the reason in an event stream', async () => {
  const { clock, read, ends } = start(eventEncoding())
  clock.advance(60_000)
  let last: string | undefined
  for (let part = await read(); part !== undefined; part = await read()) last = part
  expect(last).toBe('event: end\ndata: {"reason":"Duration"}\n\n')
  expect(ends()).toBe(1)
})

test('an idle event stream is kept open by comments', async () => {
  const { clock, read } = start(eventEncoding())
  clock.advance(15_000)
  expect(await read()).toBe(': keep-alive\n\n')
})

test('a stop of the process ends the stream with its reason', async () => {
  const { read, end } = start(eventEncoding())
  end('Shutdown')
  expect(await read()).toBe('event: end\ndata: {"reason":"Shutdown"}\n\n')
  expect(await read()).toBeUndefined()
})

test('a log that breaks off ends the event stream with its reason', async () => {
  const { log, read } = start(eventEncoding())
  log.reading.abort()
  expect(await read()).toBe('event: end\ndata: {"reason":"Interrupted"}\n\n')
})

test('the rate counts what is sent, so that empty lines as events are not faster', async () => {
  const { clock, log, read } = start(eventEncoding())
  log.write('\n\n\n')
  const sent = read()
  let arrived = false
  void sent.then(() => {
    arrived = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(arrived).toBe(false)
  clock.advance(400)
  expect(await sent).toHaveLength(24)
})

test('after the burst no more bytes are sent than the rate allows', async () => {
  const { clock, log, read } = start()
  log.write('x'.repeat(20))
  expect(await read()).toHaveLength(20)
  log.write('y'.repeat(10))
  let arrived = false
  const next = read().then((part) => {
    arrived = true
    return part
  })
  await new Promise((resolve) => setImmediate(resolve))
  clock.advance(900)
  await new Promise((resolve) => setImmediate(resolve))
  expect(arrived).toBe(false)
  clock.advance(100)
  expect(await next).toHaveLength(10)
})
