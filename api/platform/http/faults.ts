import { type InputFault, Problem, pointer } from './problem.ts'

/** How many faults an answer lists, and the longest JSON Pointer that it names: an answer never outgrows its request. */
export const maxListedFaults = 32
const maxPointerLength = 256

/** Collects the faults of a request: keeps the first 32 and counts the others. */
export type FaultList = {
  /** Adds a fault at a place in the body; with a prefix such as `query:` elsewhere. */
  readonly add: (path: readonly PropertyKey[], message: string, prefix?: string) => void
  readonly total: () => number
  /** A 400 that lists the kept faults and says how many there are. */
  readonly toProblem: () => Problem
}

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
      const rest = total > listed.length ? `; the first ${listed.length} are listed` : ''
      return new Problem('invalid_request', `The request has ${count}${rest}.`, { errors: listed })
    },
  }
}

const shorten = (text: string): string =>
  text.length > maxPointerLength ? `${text.slice(0, maxPointerLength - 1)}…` : text
const shortenStep = (step: PropertyKey): PropertyKey => (typeof step === 'string' ? shorten(step) : step)
