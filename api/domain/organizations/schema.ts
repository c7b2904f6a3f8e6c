import * as z from 'zod'
import { exampleId, examplePictureUrl } from '#api/platform/http/examples.ts'
import { boundedText, freeText, linkText, maxNameLength, shownId } from '#api/platform/http/fields.ts'
import { withinJsonBytes } from '#shared/domain/common.ts'
import { isLinearPattern } from './pattern.ts'

const example = {
  name: 'Acme',
  featuredEventId: 'opening-night',
  websiteInfo: { title: 'Acme Worlds', headTags: ['<meta name="theme-color" content="#224466">'] },
  features: { hasProfilePage: true, loginOptions: { hasEmail: true } },
  legalPolicies: { chatRules: ['Be kind.'] },
  hasEventEnabled: true,
}
const shownExample = {
  ...example,
  legalPolicies: {
    termsOfService: [],
    privacyPolicy: [],
    partnerPrivacyPolicy: [],
    eula: [],
    ...example.legalPolicies,
  },
  tenantId: 'acme',
  pictureUrl: examplePictureUrl('organization'),
}

const text = (max = 1024) => boundedText(max)
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

/** The most bytes of the settings of an organization, each as JSON. Its row has at most 256 KiB. */
const maxBytes = { websiteInfo: 32 * 1024, features: 32 * 1024, legalPolicies: 160 * 1024 }

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
    .strictObject({
      unique: z.boolean().exactOptional(),
      pattern: text(256)
        .refine(
          isLinearPattern,
          'must be a regular expression in RE2 syntax, with repetitions that expand to at most 5,000 parts',
        )
        .exactOptional()
        .meta({ format: 'regex', examples: ['^[a-z][a-z0-9_]{2,15}$'] }),
    })
    .exactOptional(),
  iosNativeClientSupport: z.boolean().exactOptional(),
  useSignedContentDownloads: z.boolean().exactOptional(),
  customerConnectUrl: linkText().exactOptional(),
})

const name = () =>
  boundedText(maxNameLength)
    .min(1)
    .meta({ examples: [example.name] })
const featuredEventId = () => text(256)
const tenantId = () =>
  freeText().meta({
    description: 'A label that the tenant chooses. It is not unique; organizationId identifies the organization.',
    examples: [shownExample.tenantId],
  })

/** The body of `POST /api/organizations/`. Only the name is required. */
export const createOrganizationBody = z
  .strictObject({
    name: name(),
    featuredEventId: featuredEventId().exactOptional(),
    websiteInfo: withinJsonBytes(maxBytes.websiteInfo, websiteInfo).exactOptional(),
    features: withinJsonBytes(maxBytes.features, features).exactOptional(),
    legalPolicies: withinJsonBytes(maxBytes.legalPolicies, legalPolicies).exactOptional(),
    hasEventEnabled: z.boolean().exactOptional(),
  })
  .meta({ id: 'CreateOrganization', examples: [example] })

/** The answer of `POST /api/organizations/`. */
export const createdOrganization = z.object({ organizationId: shownId('organization'), features }).meta({
  id: 'CreatedOrganization',
  examples: [{ organizationId: exampleId('organization'), features: example.features }],
})

/** The body of `PATCH /api/organizations/current/`. Omitted fields stay unchanged; `features` is replaced as a whole. */
export const patchOrganizationBody = z
  .strictObject({
    name: name().exactOptional(),
    tenantId: tenantId().exactOptional(),
    featuredEventId: featuredEventId().exactOptional(),
    features: withinJsonBytes(maxBytes.features, features).exactOptional(),
  })
  .meta({ id: 'PatchOrganization', examples: [{ name: 'Acme Worlds', tenantId: shownExample.tenantId }] })

const shared = {
  name: z.string(),
  tenantId: z.string(),
  pictureUrl: z.string().exactOptional(),
  featuredEventId: z.string(),
  websiteInfo: websiteInfo.required(),
  features,
  legalPolicies: legalPolicies.required(),
  hasEventEnabled: z.boolean(),
}

/** The login providers that the platform may offer. */
export const providers = ['providerA', 'providerB', 'providerC', 'providerD'] as const

/** The public fields of an organization. */
export const publicOrganization = z
  .object({
    organizationId: shownId('organization'),
    ...shared,
    supportedProviders: z.object({
      providerA: z.boolean(),
      providerB: z.boolean(),
      providerC: z.boolean(),
      providerD: z.boolean(),
    }),
  })
  .meta({
    id: 'PublicOrganization',
    examples: [
      {
        organizationId: exampleId('organization'),
        ...shownExample,
        supportedProviders: { providerA: false, providerB: false, providerC: false, providerD: false },
      },
    ],
  })

/** The fields of an organization for its members. */
export const organizationAnswer = z
  .object({
    documentId: shownId('organization'),
    ...shared,
    permissionVerb: z.enum(['r', 'w', '*']),
    isSlot: z.boolean(),
  })
  .meta({
    id: 'Organization',
    examples: [{ documentId: exampleId('organization'), ...shownExample, permissionVerb: '*', isSlot: false }],
  })

export type CreateOrganization = z.output<typeof createOrganizationBody>
export type PatchOrganization = z.output<typeof patchOrganizationBody>
export type PublicOrganization = z.output<typeof publicOrganization>
export type OrganizationAnswer = z.output<typeof organizationAnswer>
export type WebsiteInfo = z.output<typeof websiteInfo>
export type LegalPolicies = z.output<typeof legalPolicies>
export type Features = z.output<typeof features>
