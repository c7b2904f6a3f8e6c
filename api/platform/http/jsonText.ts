/** The characters after which other requests get a turn. */
const turnLength = 256 * 1024

/**
 * Returns the JSON of a response. The items of an array, or of arrays that are members of an object, are converted in parts,
 * and other requests get a turn in between.
 */
export const toJsonText = async (body: unknown): Promise<string> => {
  if (Array.isArray(body)) return `[${await joinItems(body)}]`
  const isObject = typeof body === 'object' && body !== null
  if (!isObject || !Object.values(body).some(Array.isArray)) return JSON.stringify(body)
  const members: string[] = []
  for (const [name, value] of Object.entries(body)) {
    const text = Array.isArray(value) ? `[${await joinItems(value)}]` : JSON.stringify(value)
    if (text !== undefined) members.push(`${JSON.stringify(name)}:${text}`)
  }
  return `{${members.join(',')}}`
}

const joinItems = async (items: readonly unknown[]): Promise<string> => {
  const texts: string[] = []
  let count = 1
  let length = 0
  for (let at = 0; at < items.length; ) {
    const text = JSON.stringify(items.slice(at, at + count)).slice(1, -1)
    texts.push(text)
    at += count
    length += text.length
    // The items of a list have similar sizes.
    count = Math.max(1, Math.min(2 * count, Math.floor((turnLength * count) / text.length)))
    if (length < turnLength) continue
    length = 0
    await new Promise((resolve) => setImmediate(resolve))
  }
  return texts.join(',')
}
