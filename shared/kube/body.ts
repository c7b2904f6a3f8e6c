import { KubeError } from './errors.ts'

/** Reads a body whole, as text. More than `maxBytes` is a `KubeError` of reason TooLarge. */
export const readText = async (body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> => {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > maxBytes) throw tooLarge(`the answer is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

/**
 * The lines of a body, without their ends, however the chunks are cut; empty lines are left out, and so is a last one
 * that was broken off. A line of more than `maxBytes` is a `KubeError` of reason TooLarge.
 */
export async function* readLines(body: AsyncIterable<Buffer>, maxBytes: number): AsyncGenerator<string> {
  let started: Buffer[] = []
  let startedBytes = 0
  for await (const chunk of body) {
    let from = 0
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, from)) {
      const line = Buffer.concat([...started, chunk.subarray(from, end)])
      started = []
      startedBytes = 0
      from = end + 1
      if (line.length > 0) yield line.toString('utf8')
    }
    if (from === chunk.length) continue
    started.push(chunk.subarray(from))
    startedBytes += chunk.length - from
    if (startedBytes > maxBytes) throw tooLarge(`a line is longer than ${maxBytes} bytes`)
  }
}

const newline = 10

const tooLarge = (message: string): KubeError => new KubeError({ message, status: 0, reason: 'TooLarge' })
