import { KubeError } from './errors.ts'

/** Reads a whole body as text. Throws a `KubeError` with reason TooLarge beyond `maxBytes`. */
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
 * Yields the lines of a body without line ends. Skips empty lines and an incomplete last line. Throws a `KubeError` with
 * reason TooLarge at a line of more than `maxBytes`.
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
