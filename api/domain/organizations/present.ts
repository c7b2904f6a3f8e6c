import { optional } from '#api/platform/http/fields.ts'
import type { Verb } from '#shared/domain/permissions.ts'
import type { OrganizationAnswer, PublicOrganization } from './schema.ts'
import type { OrganizationRow } from './table.ts'

type ShownOrganization = Omit<OrganizationRow, 'groupMappings' | 'limits'>

const noPolicies = { termsOfService: [], privacyPolicy: [], chatRules: [], partnerPrivacyPolicy: [], eula: [] }

const shared = (row: ShownOrganization) => ({
  name: row.name,
  tenantId: row.tenantId,
  ...optional('pictureUrl', row.pictureUrl),
  featuredEventId: row.featuredEventId ?? '',
  websiteInfo: { title: '', headTags: [], ...row.websiteInfo },
  features: row.features,
  legalPolicies: { ...noPolicies, ...row.legalPolicies },
  hasEventEnabled: row.hasEventEnabled,
})

/** Converts a row to the response for members. */
export const presentOrganization = (row: ShownOrganization, verb: Verb): OrganizationAnswer => ({
  documentId: row.id,
  ...shared(row),
  createdAt: row.createdAt.toISOString(),
  permissionVerb: verb,
  isSlot: false,
  ...optional('idleStopMinutes', row.idleStopMinutes),
})

/** Converts a row to the public response. */
export const presentPublicly = (row: ShownOrganization, supported: readonly string[]): PublicOrganization => ({
  organizationId: row.id,
  ...shared(row),
  supportedProviders: {
    providerA: supported.includes('providerA'),
    providerB: supported.includes('providerB'),
    providerC: supported.includes('providerC'),
    providerD: supported.includes('providerD'),
  },
})
