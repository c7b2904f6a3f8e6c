import { apiKeyEndpoints } from './domain/apiKeys/endpoints.ts'
import { botEndpoints } from './domain/bots/endpoints.ts'
import { buildEndpoints } from './domain/builds/endpoints.ts'
import { deletionEndpoints } from './domain/deletion/endpoints.ts'
import { discoveryEndpoints } from './domain/discovery/endpoints.ts'
import { documentEndpoints } from './domain/documents/endpoints.ts'
import type { Endpoint } from './domain/endpoint/endpoint.ts'
import { organizationEndpoints } from './domain/organizations/endpoints.ts'
import { projectEndpoints } from './domain/projects/endpoints.ts'
import { userEndpoints } from './domain/users/endpoints.ts'
import { worldEndpoints } from './domain/worlds/endpoints.ts'

/**
 * The one table of routes: router, checks, OpenAPI document and client all follow from it. Paths without parameters
 * stand before those with one, so that a name such as `current` or `public` is never taken for an id.
 */
export const endpoints: readonly Endpoint[] = [
  ...organizationEndpoints,
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
