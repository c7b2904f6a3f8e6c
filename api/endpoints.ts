import { apiKeyEndpoints } from './domain/apiKeys/endpoints.ts'
import { auditEndpoints } from './domain/audit/endpoints.ts'
import { botEndpoints } from './domain/bots/endpoints.ts'
import { buildEndpoints } from './domain/builds/endpoints.ts'
import { bulkEndpoints } from './domain/bulk/endpoints.ts'
import { clusterEndpoints } from './domain/clusters/endpoints.ts'
import { deletionEndpoints } from './domain/deletion/endpoints.ts'
import { discoveryEndpoints } from './domain/discovery/endpoints.ts'
import { documentEndpoints } from './domain/documents/endpoints.ts'
import type { Endpoint } from './domain/endpoint/endpoint.ts'
import { groupEndpoints } from './domain/groups/endpoints.ts'
import { logEndpoints } from './domain/logs/endpoints.ts'
import { organizationEndpoints } from './domain/organizations/endpoints.ts'
import { projectEndpoints } from './domain/projects/endpoints.ts'
import { realtimeTicketEndpoints } from './domain/realtimeTickets/endpoints.ts'
import { signInEndpoints } from './domain/signIn/endpoints.ts'
import { usageEndpoints } from './domain/usage/endpoints.ts'
import { userEndpoints } from './domain/users/endpoints.ts'
import { webhookEndpoints } from './domain/webhooks/endpoints.ts'
import { worldMetricsEndpoints } from './domain/worldMetrics/endpoints.ts'
import { worldEndpoints } from './domain/worlds/endpoints.ts'

/**
 * The endpoints of the REST API, from which router, validation, OpenAPI document and client are derived. Paths without
 * parameters come first, so that segments such as `current` and `public` are not parsed as ids.
 */
export const endpoints: readonly Endpoint[] = [
  ...organizationEndpoints,
  ...usageEndpoints,
  ...auditEndpoints,
  ...clusterEndpoints,
  ...apiKeyEndpoints,
  ...webhookEndpoints,
  ...projectEndpoints,
  ...discoveryEndpoints,
  ...worldEndpoints,
  ...deletionEndpoints,
  ...bulkEndpoints,
  ...botEndpoints,
  ...logEndpoints,
  ...worldMetricsEndpoints,
  ...buildEndpoints,
  ...documentEndpoints,
  ...userEndpoints,
  ...groupEndpoints,
  ...realtimeTicketEndpoints,
  ...signInEndpoints,
].sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
