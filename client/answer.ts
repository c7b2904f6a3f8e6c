/** Reads the body of a successful response by its content type: JSON, text or a Blob, and undefined if there is none. */
export const readAnswer = async (operationId: string, response: Response): Promise<unknown> => {
  const type = response.headers.get('content-type') ?? ''
  if (/^application\/([\w.-]+\+)?json/i.test(type)) return parse(operationId, await response.text())
  if (/^text\//i.test(type)) return response.text()
  const blob = await response.blob()
  return blob.size === 0 && type === '' ? undefined : blob
}

const parse = (operationId: string, text: string): unknown => {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own error quotes the response, which may hold a new secret.
    throw new Error(`The response to ${operationId} is labelled as JSON and is not valid JSON.`)
  }
}
