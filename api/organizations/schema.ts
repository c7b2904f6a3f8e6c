import { z } from '@hono/zod-openapi'
import { idPattern } from '#shared/ids.ts'

const text = (max = 1024) => z.string().max(max)
const texts = () => z.array(text(65_536)).max(256)

const websiteInfo = z.strictObject({
  title: text().exactOptional(),
  headTags: z.array(text(4096)).max(256).exactOptional(),
})

const legalPolicies = z.strictObject({
  termsOfService: texts().exactOptional(),
  privacyPolicy: texts().exactOptional(),
  chatRules: texts().exactOptional(),
  partnerPrivacyPolicy: texts().exactOptional(),
  eula: texts().exactOptional(),
})

const channel = z.strictObject({ read: z.boolean(), write: z.boolean(), type: text(64) })

const features = z.strictObject({
  loginPanelDisclaimer: text(4096).exactOptional(),
  profilePictureUpload: z.boolean().exactOptional(),
  hasProfilePage: z.boolean().exactOptional(),
  hasCollectionsPage: z.boolean().exactOptional(),
  hasNavigationMenu: z.boolean().exactOptional(),
  allowPublicReadableChat: z.boolean().exactOptional(),
  loginOptions: z
    .strictObject({
      hasEmail: z.boolean().exactOptional(),
      hasWalletA: z.boolean().exactOptional(),
      hasWalletB: z.boolean().exactOptional(),
      hasWalletC: z.boolean().exactOptional(),
      hasIdentityProvider: z.boolean().exactOptional(),
    })
    .exactOptional(),
  allowUserTokenManagement: z.boolean().exactOptional(),
  pubsub: z
    .strictObject({
      publishKey: text().exactOptional(),
      subscribeKey: text().exactOptional(),
      defaultChannels: z.array(channel).max(64).exactOptional(),
    })
    .exactOptional(),
  usernameCustomization: z
    .strictObject({ unique: z.boolean().exactOptional(), pattern: text(256).exactOptional() })
    .exactOptional(),
  iosNativeClientSupport: z.boolean().exactOptional(),
  useSignedContentDownloads: z.boolean().exactOptional(),
  customerConnectUrl: text(2048).exactOptional(),
})

/** The body of `POST /api/organizations/`; only the name must be given. */
export const createOrganizationBody = z
  .strictObject({
    name: z.string().min(1).max(128).openapi({ example: 'Acme' }),
    featuredEventId: text(256).exactOptional(),
    websiteInfo: websiteInfo.exactOptional(),
    features: features.exactOptional(),
    legalPolicies: legalPolicies.exactOptional(),
    hasEventEnabled: z.boolean().exactOptional(),
  })
  .openapi('CreateOrganization')

/** The answer of `POST /api/organizations/`. */
export const createdOrganization = z
  .object({ organizationId: z.string().regex(new RegExp(idPattern('organization'))), features })
  .openapi('CreatedOrganization')

export type CreateOrganization = z.output<typeof createOrganizationBody>
export type WebsiteInfo = z.output<typeof websiteInfo>
export type LegalPolicies = z.output<typeof legalPolicies>
export type Features = z.output<typeof features>
