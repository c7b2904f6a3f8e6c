/** The shortest text that is shared: V8 shares those of up to ten characters itself when it parses JSON. */
const minLength = 11
/** The longest text that is shared. Longer ones rarely repeat, and the memory of the remembered texts must have a limit. */
const maxLength = 256
/** The number of texts that are remembered. Beyond it, all are forgotten, and those in use come back soon. */
const defaultMax = 4_096

/**
 * Creates a function that replaces each text in an object by an equal one that it met before, and returns the object. Objects
 * of one kind have most of their texts in common, and JSON has a copy of a text for each place. Call it only with an object
 * that nothing else reads yet.
 */
export const createTextSharing = (max = defaultMax): (<T>(value: T) => T) => {
  const texts = new Map<string, string>()
  const shareText = (text: string): string => {
    const known = texts.get(text)
    if (known !== undefined) return known
    if (texts.size >= max) texts.clear()
    texts.set(text, text)
    return text
  }
  const visit = (value: Record<string, unknown>): void => {
    for (const key of Object.keys(value)) {
      const field = value[key]
      if (typeof field === 'string') {
        if (field.length >= minLength && field.length <= maxLength) value[key] = shareText(field)
      } else if (typeof field === 'object' && field !== null) visit(field as Record<string, unknown>)
    }
  }
  return (value) => {
    if (typeof value === 'object' && value !== null) visit(value as Record<string, unknown>)
    return value
  }
}
