/** The state of a game server, as a test sets it. */
export type Game = {
  /** The server is silent until it is true. */
  isAnswering: boolean
  /** All players, bots among them. */
  players: number
  bots: number
  /** The number of questions that have arrived, answered or not. */
  asked: number
  readonly capacity: number
  readonly map: string
  readonly version: string
}
