import type { ServerResponse } from 'node:http'
import type { Lease } from '#api/platform/fairness/budget.ts'
import { Problem } from './problem.ts'

const headers = { 'retry-after': '2' }

/** Lets a request hold that many bytes of its body and response. Throws a 429 or 503 if they do not fit in the budget. */
export const holdOrRefuse = ({ hold }: Lease, bytes: number): void => {
  const shortage = hold(bytes)
  if (shortage === undefined) return
  const retry = 'Retry after the time in Retry-After. For a list, a lower limit makes the response smaller.'
  if (shortage === 'group') {
    const detail = `The requests in progress of this organization or address hold too many bytes in memory. ${retry}`
    throw new Problem('rate_limited', detail, { headers })
  }
  throw new Problem('unavailable', `The requests in progress hold too many bytes in memory. ${retry}`, { headers })
}

/** Ends the lease of a handled request when the response has been sent, or its client is gone. */
export const endWithResponse = ({ end }: Lease, response: ServerResponse | undefined): void => {
  if (response === undefined || response.closed) end()
  else response.once('close', end)
}
