import type { Pod } from '#operator/pods/pod.ts'
import type { OwnerReference } from '#shared/kube/objects.ts'

// Values that the tests of worlds and of bots share.

export const runA = 'run-0000000000000000000000000a'
export const runB = 'run-0000000000000000000000000b'
export const namespace = 'orrery-org-00000000000000000000000001'

/** The start of the runs, in epoch milliseconds. */
export const startMs = Date.UTC(2026, 0, 1, 12)

/** Formats epoch milliseconds as RFC 3339. */
export const at = (ms: number): string => new Date(ms).toISOString()

/** The settings that worlds and bots have in common. */
export const commonSettings = {
  publicUrl: 'http://api.example:8080',
  imageRegistries: ['*'],
  imagePullPolicy: 'Always' as const,
  hostUsers: true,
  memoryRequestRatio: 1,
  cpuRequestRatio: 0.25,
  restartBudget: 3,
  restartBackoffMs: 1_000,
  restartBackoffMaxMs: 60_000,
  restartRefillMs: 600_000,
  startDeadlineMs: 600_000,
  unreadyStopGraceSeconds: 5,
}

/** The reference of a dependent to the resource that controls it. */
export const controllerReference = (kind: string, name: string, uid: string): OwnerReference => ({
  apiVersion: 'orrery.dev/v1alpha1',
  kind,
  name,
  uid,
  controller: true,
})

/** The status of a pod that ran from `startMs` for `ranForMs` and ended with that exit code. */
export const exitStatus = (exitCode: number, ranForMs = 1_000): NonNullable<Pod['status']> => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  containerStatuses: [
    {
      state: {
        terminated: {
          exitCode,
          reason: exitCode === 0 ? 'Completed' : 'Error',
          startedAt: at(startMs),
          finishedAt: at(startMs + ranForMs),
        },
      },
    },
  ],
})

/** The condition of a pod that the cluster removes for that reason. */
export const disruptionTarget = (reason: string, message = '') => ({
  type: 'DisruptionTarget',
  status: 'True',
  reason,
  message,
})
