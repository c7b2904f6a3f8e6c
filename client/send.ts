import { readAnswer } from './answer.ts'
import { readError } from './error.ts'
import { sendIdentified } from './identified.ts'
import { operations } from './operations.ts'
import { type ClientOptions, fixedIdentity, identityOf, secretsOf } from './options.ts'
import { contentOf, targetOf } from './request.ts'
import { isRepeatable, systemClock, withRetries } from './retry.ts'
import { checkTimeout, withTimeout } from './timeout.ts'
import type { AnyInput, Operation, Reply } from './types.ts'

const table: Readonly<Record<string, Operation>> = operations
const defaultTimeoutMs = 30_000
const defaultMaxRetries = 2

/** Creates the function that sends the request of any operation, with retries where they are safe. */
export const createRequest = (options: ClientOptions) => {
  const { fetch: send = globalThis.fetch, maxRetries = defaultMaxRetries, clock = systemClock } = options
  const baseUrl = options.baseUrl.replace(/\/+$/, '')
  const timeoutMs = checkTimeout(options.timeoutMs ?? defaultTimeoutMs)
  // An invalid credential is an error at once.
  identityOf(fixedIdentity(options))

  return async (operationId: string, input: AnyInput = {}): Promise<Reply<unknown>> => {
    const operation = table[operationId]
    if (!operation) throw new TypeError(`The API has no operation ${operationId}.`)
    const { signal } = input
    const url = `${baseUrl}${targetOf(operation, input)}`
    const { headers, ...content } = contentOf(operation, input)

    const attempt = async (ended: AbortSignal): Promise<Reply<unknown>> => {
      const { method } = operation
      const { response, sentAs } = await sendIdentified(options, (known) => {
        for (const [name, value] of identityOf(known)) headers.set(name, value)
        // Following a redirect would send the API key to another address.
        return send(url, { method, headers, ...content, redirect: 'manual', signal: ended })
      })
      if (!response.ok) throw await readError(operationId, response, { secrets: secretsOf(sentAs), nowMs: clock.now() })
      const body = await readAnswer(operationId, response)
      return { status: response.status, headers: response.headers, body }
    }
    return withRetries(() => withTimeout(attempt, { operationId, timeoutMs, signal }), {
      maxRetries: isRepeatable(operation.method, headers) ? maxRetries : 0,
      clock,
      signal,
    })
  }
}
