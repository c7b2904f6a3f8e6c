/** The port of every server for players, TCP and UDP. */
export const gamePort = 7777

/** The port of `/readyz` and `/healthz` of servers and bots. */
export const healthPort = 8080
