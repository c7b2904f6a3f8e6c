import { isRecord } from '#shared/kube/errors.ts'
import type { ServerReport } from './answer.ts'

type Members = Readonly<Record<string, unknown>>

/** Returns the object in a text, or undefined if the text is not an object in JSON. Never throws. */
export const readObject = (text: string): Members | undefined => {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Returns a member that is an object; otherwise an empty one. */
export const objectIn = (value: Members, name: string): Members => {
  const member = value[name]
  return isRecord(member) ? member : {}
}

/** Returns a member that is a number. It may be any, such as 1e999. */
export const numberIn = (value: Members, name: string): number | undefined => {
  const member = value[name]
  return typeof member === 'number' ? member : undefined
}

/** Returns the version and the map, as far as they are texts. */
export const textsIn = ({
  version,
  map,
}: {
  version?: unknown
  map?: unknown
}): Pick<ServerReport, 'version' | 'map'> => ({
  ...(typeof version === 'string' && { version }),
  ...(typeof map === 'string' && { map }),
})
