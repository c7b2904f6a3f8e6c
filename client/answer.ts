/** The body of a success as its type says: JSON, text, or a Blob; undefined where there is none. */
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
    // The parser's own error quotes the answer, which may hold a secret that was just made.
    throw new Error(`${operationId} was answered with a body that is not the JSON it says it is.`)
  }
}
