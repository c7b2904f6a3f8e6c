import { apiKeyEndpoints } from './domain/apiKeys/endpoints.ts'
import { botEndpoints } from './domain/bots/endpoints.ts'
import { buildEndpoints } from './domain/builds/endpoints.ts'
import { deletionEndpoints } from './domain/deletion/endpoints.ts'
import { discoveryEndpoints } from './domain/discovery/endpoints.ts'
import { documentEndpoints } from './domain/documents/endpoints.ts'
import type { Endpoint } from './domain/endpoint/endpoint.ts'
import { organizationEndpoints } from './domain/organizations/endpoints.ts'
import { projectEndpoints } from './domain/projects/endpoints.ts'
import { usageEndpoints } from './domain/usage/endpoints.ts'
import { userEndpoints } from './domain/users/endpoints.ts'
import { worldEndpoints } from './domain/worlds/endpoints.ts'

/**
 * The endpoints of the REST API, from which router, validation, OpenAPI document and client are derived. Paths without
 * parameters come first, so that segments such as `current` and `public` are not parsed as ids.
 */
export const endpoints: readonly Endpoint[] = [
  ...organizationEndpoints,
  ...usageEndpoints,
  ...apiKeyEndpoints,
  ...projectEndpoints,
  ...discoveryEndpoints,
  ...worldEndpoints,
  ...deletionEndpoints,
  ...botEndpoints,
  ...buildEndpoints,
  ...documentEndpoints,
  ...userEndpoints,
].sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
