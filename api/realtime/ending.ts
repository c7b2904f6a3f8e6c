/** The reason why the API ended a connection, as the value of the metric's `reason` label. */
export type Ending = keyof typeof endings

/** The close codes and reasons: a code of RFC 6455, section 7.4, or an application code from 4000. */
export const endings = {
  restart: [1012, 'The API is restarting. Connect again.'],
  malformed: [1008, 'Too many malformed messages.'],
  rate: [1008, 'Too many messages per second.'],
  unread: [1008, 'Too many unread messages.'],
  tooLarge: [1009, 'A message is larger than 16 KiB.'],
  notText: [1007, 'A text message is not valid UTF-8.'],
  protocol: [1002, 'A frame breaks the WebSocket protocol.'],
  idle: [1000, 'No subscription for ten minutes.'],
  credential: [4401, 'The credential is no longer valid.'],
  scope: [4404, 'The scope no longer exists.'],
  crowded: [1013, 'Too many messages of the organization wait. Connect again later.'],
  silent: [1001, ''],
  stalled: [1013, ''],
} as const
