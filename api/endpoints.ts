import { apiKeyEndpoints } from './apiKeys/endpoints.ts'
import { botEndpoints } from './bots/endpoints.ts'
import { buildEndpoints } from './builds/endpoints.ts'
import { discoveryEndpoints } from './discovery/endpoints.ts'
import { documentEndpoints } from './documents/endpoints.ts'
import type { Endpoint } from './http/endpoint.ts'
import { organizationEndpoints } from './organizations/endpoints.ts'
import { projectEndpoints } from './projects/endpoints.ts'
import { userEndpoints } from './users/endpoints.ts'
import { worldEndpoints } from './worlds/endpoints.ts'

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
  ...botEndpoints,
  ...buildEndpoints,
  ...documentEndpoints,
  ...userEndpoints,
].sort((a, b) => Number(a.path.includes('{')) - Number(b.path.includes('{')))
