/** The prefix of a status message that the API wrote. The first successful push clears the message. */
export const waitingPrefix = 'Waiting for the cluster: '

/** Returns the status message of a row whose resource waits for the cluster, shortened to 1,024 characters. */
export const waitingMessage = (reason: string): string => `${waitingPrefix}${reason}`.slice(0, 1024)

/** Returns the status message of a row whose resource is deleted with its namespace or definition. */
export const lostMessage = (reason: string): string =>
  waitingMessage(`${reason}, and the resource with it. The API recreates the resource when that is possible.`)
