import type { ServerAnswer } from './answer.ts'
import { numberIn, readObject, textsIn } from './json.ts'

/** Reads the body of an answer to `GET /readyz`: `active` and `queued`, and `capacity`, `version` and `map` if it has them. */
export const readHttpAnswer = (body: string): ServerAnswer => {
  const answer = readObject(body)
  if (answer === undefined) return { kind: 'fault', fault: 'is not an object in JSON' }
  const [players, queued, capacity] = ['active', 'queued', 'capacity'].map((name) => numberIn(answer, name))
  if (players === undefined || queued === undefined) {
    return { kind: 'fault', fault: 'has no numbers active and queued' }
  }
  const { version, map } = answer
  return {
    kind: 'report',
    report: { players, queued, ...(capacity !== undefined && { capacity }), ...textsIn({ version, map }) },
  }
}
