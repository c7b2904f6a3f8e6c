/** Why a connection was ended from here; the words of its metric. */
export type Ending = keyof typeof endings

/** What a client is told at its end: a code of RFC 6455, 7.4, or one of ours from 4000 on. */
export const endings = {
  restart: [1012, 'The server restarts; connect again.'],
  malformed: [1008, 'Too many malformed messages.'],
  rate: [1008, 'Too many messages a second.'],
  unread: [1008, 'Too many answers wait to be read.'],
  idle: [1000, 'Nothing was subscribed to for ten minutes.'],
  credential: [4401, 'The credential is not valid any more.'],
  scope: [4404, 'The scope does not exist any more.'],
  silent: [1001, ''],
  stalled: [1013, ''],
} as const
