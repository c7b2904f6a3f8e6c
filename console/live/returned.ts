import { judgeReturn, type Outcome, parseAttempt, parseReturn } from '#console/state/signIn.ts'
import { store, stored } from './storage.ts'

/** Takes the answer of an issuer out of the address and the history, and the sign-in, if it answers that, out of the storage. */
const take = (): Outcome | undefined => {
  const returned = parseReturn(new URL(location.href))
  if (returned === undefined) return undefined
  const outcome = judgeReturn(returned, parseAttempt(stored('orrery.signIn')), Date.now())
  if (outcome.kind !== 'foreign') store('orrery.signIn', undefined)
  history.replaceState(null, '', outcome.path)
  return outcome
}

let outcome = take()

/** Returns the answer with which an issuer sent the browser to this page. Later calls return undefined: a code is used once. */
export const takeReturn = (): Outcome | undefined => {
  const taken = outcome
  outcome = undefined
  return taken
}
