import * as z from 'zod'
import { deploymentExample } from '#api/domain/worlds/examples.ts'
import { shownId, shownInstant } from '#api/platform/http/fields.ts'
import { deploymentStatuses } from '#shared/enumerations.ts'
import { runEndReasons } from '#shared/resources/world.ts'

/** The reasons for which a deployment ended: those of its run, or that another run replaced it. */
export const deploymentEndReasons = [...runEndReasons, 'Superseded'] as const

/** The record of a run in responses. */
export const deploymentAnswer = z
  .object({
    id: shownId('deployment'),
    externalId: z.string(),
    organizationId: shownId('organization'),
    projectId: shownId('project'),
    worldId: shownId('world'),
    runId: shownId('run').exactOptional(),
    createdAt: shownInstant().describe('Time when the run was requested.'),
    updatedAt: shownInstant().describe('Time of the last change of the deployment.'),
    startedAt: shownInstant().exactOptional().describe('Time from which the duration of the run counts.'),
    readyAt: shownInstant().exactOptional().describe('Time when the server last became ready.'),
    endedAt: shownInstant().exactOptional().describe('Time when the run ended.'),
    endReason: z
      .enum(deploymentEndReasons)
      .exactOptional()
      .describe(
        'Reason for the end: Stopped by a user, Expired after its duration, Completed with exit code 0, StartDeadline if the server was not ready in time, RestartBudget after too many failures, Superseded by the next run.',
      ),
    exitCode: z.int().exactOptional().describe('Exit code of the server that ended last.'),
    image: z.string().exactOptional().describe('Container image of the server.'),
    restarts: z
      .int()
      .describe(
        'Number of failures of the server since it was last ready for 10 minutes. They use up the restart budget.',
      ),
    status: z.enum(deploymentStatuses),
    networking: z.object({ scaling: z.object({ profile: z.string() }) }),
    compute: z.object({
      clusterName: z.string(),
      group: z.string(),
      region: z.string(),
      version: z.string().exactOptional(),
    }),
    runtime: z.object({
      build: z.object({
        channelId: z.string().exactOptional(),
        id: z.string().exactOptional(),
        content: z.object({ id: z.string() }).exactOptional(),
      }),
      mapName: z.string(),
      liveConfigUrl: z.string(),
      durationMinute: z.number().exactOptional(),
      args: z.array(z.string()),
    }),
  })
  .meta({ id: 'WorldDeployment', examples: [deploymentExample] })

export type DeploymentAnswer = z.output<typeof deploymentAnswer>
