import { RE2JS } from 're2js'

/** Reports whether text is a regular expression in RE2 syntax. Such an expression matches in linear time. */
export const isLinearPattern = (text: string): boolean => {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}
