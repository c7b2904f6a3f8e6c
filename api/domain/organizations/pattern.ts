import { RE2JS } from 're2js'

/** Whether a text is a regular expression that RE2 takes: such a one runs in time linear in what it is run on. */
export const isLinearPattern = (text: string): boolean => {
  try {
    RE2JS.compile(text)
    return true
  } catch {
    return false
  }
}
