import * as z from 'zod'
import { deploymentExample } from '#api/domain/worlds/examples.ts'
import { shownId, shownInstant } from '#api/platform/http/fields.ts'
import { serverQuery } from '#shared/domain/query.ts'
import { deploymentStatuses } from '#shared/enumerations.ts'
import { runEndReasons } from '#shared/why/endings.ts'

/** The reasons for which a deployment ended: those of its run, or that another run replaced it. */
export const deploymentEndReasons = [...runEndReasons, 'Superseded'] as const

/** The address where servers read their live configuration. */
export const liveConfigUrl = z.string().describe('URL of the live configuration of the world.')

/** The record of a run in responses. */
export const deploymentAnswer = z
  .object({
    id: shownId('deployment'),
    externalId: z.string().describe('UID of the pod. Empty until there is a pod.'),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    worldId: shownId('world'),
    runId: shownId('run').exactOptional(),
    createdAt: shownInstant('Time when the run was requested.'),
    updatedAt: shownInstant('Time of the last change of the deployment.'),
    startedAt: shownInstant('Time from which the duration of the run counts.').exactOptional(),
    readyAt: shownInstant('Time when the server last became ready.').exactOptional(),
    endedAt: shownInstant('Time when the run ended.').exactOptional(),
    endReason: z
      .enum(deploymentEndReasons)
      .exactOptional()
      .describe(
        'Reason for the end: Stopped by a user, Expired after its duration, Idle after a time without players, Completed with exit code 0, StartDeadline if the server was not ready in time, RestartBudget after too many failures, Superseded by the next run.',
      ),
    wokenBy: z.string().exactOptional().describe('Caller who woke the world for this run.'),
    exitCode: z.int().exactOptional().describe('Exit code of the server that ended last.'),
    image: z.string().exactOptional().describe('Container image of the server.'),
    restarts: z
      .int()
      .describe(
        'Number of failures of the server since it was last ready for 10 minutes. They use up the restart budget.',
      ),
    status: z.enum(deploymentStatuses).describe('Status of the run.'),
    networking: z
      .object({
        scaling: z
          .object({ profile: z.string().describe('Scaling profile of the run.') })
          .describe('Size of the server.'),
      })
      .describe('Network access and size of the server.'),
    compute: z
      .object({
        clusterName: z.string().describe('Name of the cluster.'),
        group: z.string().describe('Kind of compute.'),
        region: z.string().describe('Region of the server.'),
        version: z
          .string()
          .exactOptional()
          .describe('Version of the compute. Orrery stores it and does not interpret it.'),
      })
      .describe('The location of the server.'),
    runtime: z
      .object({
        build: z
          .object({
            channelId: z.string().exactOptional().describe('Channel of the build.'),
            id: z.string().exactOptional().describe('Identifier of the build.'),
            content: z
              .object({ id: z.string().describe('Identifier of the content.') })
              .exactOptional()
              .describe('The content that the image holds.'),
          })
          .describe('The build of the run. Empty for the default image.'),
        mapName: z.string().describe('Name of the map that the server loads.'),
        query: serverQuery.exactOptional(),
        liveConfigUrl,
        durationMinute: z
          .number()
          .exactOptional()
          .describe('Minutes after which the run is stopped. The name is singular.'),
        args: z.array(z.string()).describe('Arguments to the entry point of the image.'),
      })
      .describe('Build and settings of the server.'),
  })
  .meta({ id: 'WorldDeployment', examples: [deploymentExample] })

export type DeploymentAnswer = z.output<typeof deploymentAnswer>
