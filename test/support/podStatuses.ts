const now = (): string => new Date().toISOString()

/** Returns the statuses of the container of a server, in this state, as the kubelet writes them. */
export const containerIn = (state: object): object[] => [
  { name: 'server', image: 'i', imageID: 'i', ready: false, restartCount: 0, state },
]

/** Returns the status of a pod that is Ready. */
export const readyAt = (ip: string): object => ({
  phase: 'Running',
  podIP: ip,
  podIPs: [{ ip }],
  conditions: [
    { type: 'PodScheduled', status: 'True', lastTransitionTime: now() },
    { type: 'Ready', status: 'True', lastTransitionTime: now() },
  ],
})

/** Returns the status of a pod whose server has ended, by default with the reason that belongs to its exit code. */
export const exited = (exitCode: number, reason = exitCode === 0 ? 'Completed' : 'Error'): object => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime: now() }],
  containerStatuses: containerIn({ terminated: { exitCode, reason } }),
})
