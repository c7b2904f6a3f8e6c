import { type InputFault, Problem, pointer } from './problem.ts'

/** The maximum number of faults in a response. */
export const maxListedFaults = 32

/** The maximum length of a fault's path, so that the response stays small. */
const maxPointerLength = 256

/** The faults of a request. It keeps the first 32 and counts the rest. */
export type FaultList = {
  /** Adds a fault at a path in the body or, with a prefix such as `query:`, in another part of the request. */
  readonly add: (path: readonly PropertyKey[], message: string, prefix?: string) => void
  readonly total: () => number
  /** Returns a 400 that lists the kept faults and states the total. */
  readonly toProblem: () => Problem
}

/** Returns an empty list of faults. */
export const createFaultList = (): FaultList => {
  const listed: InputFault[] = []
  let total = 0
  return {
    add: (path, message, prefix = '') => {
      total += 1
      if (listed.length < maxListedFaults)
        listed.push({ path: shorten(prefix + pointer(path.map(shortenStep))), message })
    },
    total: () => total,
    toProblem: () => {
      const count = total === 1 ? '1 validation error' : `${total} validation errors`
      const rest = total > listed.length ? `. The first ${listed.length} are listed` : ''
      return new Problem('invalid_request', `The request has ${count}${rest}.`, { errors: listed })
    },
  }
}

const shorten = (text: string): string =>
  text.length > maxPointerLength ? `${text.slice(0, maxPointerLength - 1)}…` : text
const shortenStep = (step: PropertyKey): PropertyKey => (typeof step === 'string' ? shorten(step) : step)
