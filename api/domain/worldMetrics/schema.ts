import * as z from 'zod'
import { exampleInstant } from '#api/platform/http/examples.ts'
import { shownInstant } from '#api/platform/http/fields.ts'

/** The answer of `GET /api/worlds/{worldId}/metrics/`. */
export const worldMetrics = z
  .object({
    externalId: z.string().describe('UID of the pod of the server, as in its deployment.'),
    sampledAt: shownInstant('Time at which the cluster took the sample.'),
    windowSeconds: z.number().min(0).describe('Seconds over which the CPU time was averaged.'),
    cpuMillicores: z.number().min(0).describe('CPU that the server used, in thousandths of a core.'),
    cpuLimitMillicores: z.number().exactOptional().describe('CPU limit of the server. Absent if it has none.'),
    memoryBytes: z.number().min(0).describe('Memory in use by the server (working set).'),
    memoryLimitBytes: z.number().exactOptional().describe('Memory limit of the server. Absent if it has none.'),
  })
  .meta({
    id: 'WorldMetrics',
    examples: [
      {
        externalId: '5b1f1c0e-3d55-4a53-8d0f-6f0c1f2f9a11',
        sampledAt: exampleInstant,
        windowSeconds: 15,
        cpuMillicores: 420,
        cpuLimitMillicores: 2000,
        memoryBytes: 1_610_612_736,
        memoryLimitBytes: 4_294_967_296,
      },
    ],
  })
export type WorldMetrics = z.output<typeof worldMetrics>
