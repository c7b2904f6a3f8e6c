import * as z from 'zod'
import { exampleId, exampleInstant, examplePictureUrl } from '#api/platform/http/examples.ts'
import {
  boundedText,
  freeText,
  linkText,
  nameField,
  shownId,
  shownInstant,
  shownName,
  shownPicture,
  shownVerb,
} from '#api/platform/http/fields.ts'
import { idleMinutes, withinJsonBytes } from '#shared/domain/common.ts'
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
const flag = (description: string) => z.boolean().exactOptional().describe(description)
const paragraphs = (of: string) => z.array(text(65_536)).max(256).exactOptional().describe(`Paragraphs of ${of}.`)

const websiteInfo = z.strictObject({
  title: text().exactOptional().describe('Title of the website.'),
  headTags: z.array(text(4096)).max(256).exactOptional().describe('HTML tags for the head of the website.'),
})

const legalPolicies = z.strictObject({
  termsOfService: paragraphs('the terms of service'),
  privacyPolicy: paragraphs('the privacy policy'),
  chatRules: paragraphs('the chat rules'),
  partnerPrivacyPolicy: paragraphs('the privacy policy of partners'),
  eula: paragraphs('the license agreement'),
})

/** The most bytes of each of these settings as JSON. The row of an organization has at most 256 KiB. */
const maxBytes = { websiteInfo: 32 * 1024, features: 32 * 1024, legalPolicies: 160 * 1024 }

const channel = z.strictObject({
  read: z.boolean().describe('True if users can read the channel.'),
  write: z.boolean().describe('True if users can write to the channel.'),
  type: text(64).describe('Type of the channel.'),
})

const features = z
  .strictObject({
    loginPanelDisclaimer: text(4096).exactOptional().describe('Text below the login panel.'),
    profilePictureUpload: flag('True if users can upload a picture.'),
    hasProfilePage: flag('True if the website has a profile page.'),
    hasCollectionsPage: flag('True if the website has a page of collections.'),
    hasNavigationMenu: flag('True if the website has a navigation menu.'),
    allowPublicReadableChat: flag('True if users without an account can read the chat.'),
    loginOptions: z
      .strictObject({
        hasEmail: flag('True if users can log in by email.'),
        hasWalletA: flag('True if users can log in with wallet A.'),
        hasWalletB: flag('True if users can log in with wallet B.'),
        hasWalletC: flag('True if users can log in with wallet C.'),
        hasIdentityProvider: flag('True if users can log in by an identity provider.'),
      })
      .exactOptional()
      .describe('Ways to log in.'),
    allowUserTokenManagement: flag('True if users can manage their own tokens.'),
    pubsub: z
      .strictObject({
        publishKey: text().exactOptional().describe('Key for publishing.'),
        subscribeKey: text().exactOptional().describe('Key for subscribing.'),
        defaultChannels: z.array(channel).max(64).exactOptional().describe('Channels that every user joins.'),
      })
      .exactOptional()
      .describe('Settings of the message service of the website.'),
    usernameCustomization: z
      .strictObject({
        unique: flag('True if user names are unique.'),
        pattern: text(256)
          .refine(
            isLinearPattern,
            'must be a regular expression in RE2 syntax, with repetitions that expand to at most 5,000 parts',
          )
          .exactOptional()
          .meta({
            description: 'Regular expression (RE2) that user names match.',
            format: 'regex',
            examples: ['^[a-z][a-z0-9_]{2,15}$'],
          }),
      })
      .exactOptional()
      .describe('Rules for user names.'),
    iosNativeClientSupport: flag('True if the native iOS client is supported.'),
    useSignedContentDownloads: flag('True if downloads need a signed URL.'),
    customerConnectUrl: linkText().exactOptional().describe('URL of the customer portal.'),
  })
  .describe('Feature flags of the organization.')

const name = nameField(example.name)
const idleStopText = 'The `runtime.idleStopMinutes` of worlds that are created without one.'
const featuredEventText = 'Identifier of the featured event. Empty if there is none.'
const tenantIdText = 'A label that the tenant chooses. It is not unique; organizationId identifies the organization.'
const websiteInfoText = 'Title and head of the website.'
const legalPoliciesText = 'Legal texts of the organization.'

const featuredEventId = text(256).exactOptional().describe(featuredEventText)
const boundedFeatures = withinJsonBytes(maxBytes.features, features).exactOptional()

/** The body of `POST /api/organizations/`. Only the name is required. */
export const createOrganizationBody = z
  .strictObject({
    name,
    featuredEventId,
    websiteInfo: withinJsonBytes(maxBytes.websiteInfo, websiteInfo).exactOptional().describe(websiteInfoText),
    features: boundedFeatures,
    legalPolicies: withinJsonBytes(maxBytes.legalPolicies, legalPolicies).exactOptional().describe(legalPoliciesText),
    hasEventEnabled: flag('True if the featured event is shown.'),
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
    name: name.exactOptional(),
    tenantId: freeText()
      .exactOptional()
      .meta({ description: tenantIdText, examples: [shownExample.tenantId] }),
    featuredEventId,
    features: boundedFeatures,
    idleStopMinutes: idleMinutes.nullable().exactOptional().describe(`${idleStopText} Null removes it.`),
  })
  .meta({ id: 'PatchOrganization', examples: [{ name: 'Acme Worlds', tenantId: shownExample.tenantId }] })

const shared = {
  name: shownName,
  tenantId: z.string().describe(tenantIdText),
  pictureUrl: shownPicture,
  featuredEventId: z.string().describe(featuredEventText),
  websiteInfo: websiteInfo.required().describe(websiteInfoText),
  features,
  legalPolicies: legalPolicies.required().describe(legalPoliciesText),
  hasEventEnabled: z.boolean().describe('True if the featured event is shown.'),
}

/** The login providers that the platform may offer. */
export const providers = ['providerA', 'providerB', 'providerC', 'providerD'] as const

/** The public fields of an organization. */
export const publicOrganization = z
  .object({
    organizationId: shownId('organization'),
    ...shared,
    supportedProviders: z
      .object({
        providerA: z.boolean().describe('True if users can log in with provider A.'),
        providerB: z.boolean().describe('True if users can log in with provider B.'),
        providerC: z.boolean().describe('True if users can log in with provider C.'),
        providerD: z.boolean().describe('True if users can log in with provider D.'),
      })
      .describe('The login providers that the platform offers.'),
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
    createdAt: shownInstant('Time of the creation.'),
    permissionVerb: shownVerb,
    isSlot: z.boolean().describe('Always false.'),
    idleStopMinutes: idleMinutes.exactOptional().describe(idleStopText),
  })
  .meta({
    id: 'Organization',
    examples: [
      {
        documentId: exampleId('organization'),
        ...shownExample,
        createdAt: exampleInstant,
        permissionVerb: '*',
        isSlot: false,
      },
    ],
  })

export type CreateOrganization = z.output<typeof createOrganizationBody>
export type PatchOrganization = z.output<typeof patchOrganizationBody>
export type PublicOrganization = z.output<typeof publicOrganization>
export type OrganizationAnswer = z.output<typeof organizationAnswer>
export type WebsiteInfo = z.output<typeof websiteInfo>
export type LegalPolicies = z.output<typeof legalPolicies>
export type Features = z.output<typeof features>
