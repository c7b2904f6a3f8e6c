import * as z from 'zod'
import { instantYears } from '#shared/domain/common.ts'
import { namePatterns, serviceNameAdvice } from '#shared/kube/names.ts'
import { productVersion } from '#shared/version.ts'
import { type BotDeployment, botDeploymentSpecSchema, botDeploymentStatusSchema } from './botDeployment.ts'
import { apiGroup, apiVersion, definitionName, type Kind, kindList, kinds, versionAnnotation } from './group.ts'
import { type World, worldSpecSchema, worldStatusSchema } from './world.ts'

/** The resource of each kind. */
export type Resources = { world: World; bot: BotDeployment }

type Json = { [key: string]: unknown }
type Column = { name: string; type: 'string' | 'integer' | 'date'; jsonPath: string; description: string; wide?: true }

type Definition = {
  shortName: string
  description: string
  spec: z.ZodType
  status: z.ZodType
  columns: Column[]
  subresources?: Json
  /** Rules beside that of the length of a name. */
  rules?: Json[]
}

const age: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the resource was created.',
}

const definitions: Record<Kind, Definition> = {
  world: {
    shortName: 'wld',
    description:
      'World is a virtual world. It has at most one server pod at any time, which spec.state starts and stops.',
    spec: worldSpecSchema,
    status: worldStatusSchema,
    rules: [
      {
        rule: `self.spec.networking.strategy in ['Default', 'HostPort'] || self.metadata.name.matches('${namePatterns.service}')`,
        message: `spec.networking.strategy needs a Service of the name of the World: ${serviceNameAdvice}`,
      },
    ],
    columns: [
      { name: 'Display', type: 'string', jsonPath: '.spec.displayName', description: 'The name that users see.' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Phase of the world.' },
      {
        name: 'Ready',
        type: 'string',
        jsonPath: '.status.conditions[?(@.type=="Ready")].status',
        description: 'Status of the condition Ready.',
      },
      {
        name: 'Address',
        type: 'string',
        jsonPath: '.status.address.host',
        description: 'Host of the first public port.',
      },
      {
        name: 'Players',
        type: 'integer',
        jsonPath: '.status.queue.active',
        description: 'Number of players that the server last reported.',
      },
      {
        name: 'Profile',
        type: 'string',
        jsonPath: '.spec.scaling.profile',
        description: 'Scaling profile of the server.',
      },
      age,
      {
        name: 'Port',
        type: 'integer',
        jsonPath: '.status.address.port',
        description: 'Number of the first public port.',
        wide: true,
      },
      {
        name: 'Node',
        type: 'string',
        jsonPath: '.status.nodeName',
        description: 'Node that the server runs on.',
        wide: true,
      },
      {
        name: 'Deployment',
        type: 'string',
        jsonPath: '.status.deployment.status',
        description: 'Status of the deployment of the run.',
        wide: true,
      },
      {
        name: 'Empty',
        type: 'date',
        jsonPath: '.status.idle.since',
        description: 'Time since which nobody is in a world with idleStopMinutes.',
        wide: true,
      },
    ],
  },
  bot: {
    shortName: 'bots',
    description: 'BotDeployment is a number of bots that join the run of one World. They start and stop with that run.',
    spec: botDeploymentSpecSchema,
    status: botDeploymentStatusSchema,
    columns: [
      { name: 'World', type: 'string', jsonPath: '.spec.worldName', description: 'World that the bots enter.' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Phase of the bot deployment.' },
      { name: 'Count', type: 'integer', jsonPath: '.spec.count', description: 'Desired number of bots.' },
      { name: 'Ready', type: 'integer', jsonPath: '.status.ready', description: 'Number of bots that are Ready.' },
      age,
      {
        name: 'Bots',
        type: 'integer',
        jsonPath: '.status.replicas',
        description: 'Number of bots that exist, including those that are stopping.',
        wide: true,
      },
      {
        name: 'Run',
        type: 'string',
        jsonPath: '.status.run.id',
        description: 'Run of the world that the bots belong to.',
        wide: true,
      },
      {
        name: 'Message',
        type: 'string',
        jsonPath: '.status.message',
        description: 'Details of the phase.',
        wide: true,
      },
    ],
    subresources: {
      scale: {
        specReplicasPath: '.spec.count',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
  },
}

/** Returns the CustomResourceDefinitions by file name. The zod schemas are the only source of their fields. */
export const customResourceDefinitions = (): Record<string, Json> =>
  Object.fromEntries(
    kindList.map((kind) => [`${apiGroup}_${kinds[kind].plural}.yaml`, render(kind, definitions[kind])]),
  )

const render = (of: Kind, definition: Definition): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: {
    name: definitionName(of),
    annotations: { [versionAnnotation]: productVersion },
  },
  spec: {
    group: apiGroup,
    scope: 'Namespaced',
    names: {
      kind: kinds[of].kind,
      listKind: `${kinds[of].kind}List`,
      plural: kinds[of].plural,
      singular: kinds[of].kind.toLowerCase(),
      shortNames: [definition.shortName],
      categories: ['orrery'],
    },
    versions: [
      {
        name: apiVersion,
        served: true,
        storage: true,
        subresources: { status: {}, ...definition.subresources },
        additionalPrinterColumns: definition.columns.map(({ wide, ...column }) => ({
          ...column,
          ...(wide ? { priority: 1 } : {}),
        })),
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: definition.description,
            required: ['spec'],
            'x-kubernetes-validations': [
              {
                rule: 'size(self.metadata.name) <= 63',
                message: 'metadata.name must have at most 63 characters, since it is also a pod name and a label value',
              },
              ...(definition.rules ?? []),
            ],
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: jsonSchema(definition.spec),
              status: statusSchema(definition.status),
            },
          },
        },
      },
    ],
  },
})

/**
 * Returns the schema of a status whose parts are atomic: each has one writer, which applies it as a whole. So the API server keeps
 * one managed field for a part instead of one for each of its fields, which makes all requests cheaper.
 */
const statusSchema = (schema: z.ZodType): Json => {
  const { properties, ...status } = jsonSchema(schema)
  const parts = Object.entries(properties as Json).map(([name, part]) => [name, withAtomicObjects(part as Json)])
  return { ...status, properties: Object.fromEntries(parts) }
}

const withAtomicObjects = (part: Json): Json => {
  if (part.type === 'object') return { ...part, 'x-kubernetes-map-type': 'atomic' }
  if (part.type === 'array') return { ...part, items: withAtomicObjects(part.items as Json) }
  return part
}

const jsonSchema = (schema: z.ZodType): Json =>
  toStructural(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' })) as Json

/** Removes keywords that a structural schema cannot have. The format checks a date-time, so its pattern checks only the year. */
const toStructural = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(toStructural)
  if (typeof node !== 'object' || node === null) return node
  const isInstant = 'format' in node && node.format === 'date-time'
  const entries = Object.entries(node).filter(([key]) => key !== 'propertyNames' && key !== 'examples')
  return Object.fromEntries(
    entries.map(([key, value]) => [key, key === 'pattern' && isInstant ? instantYears : toStructural(value)]),
  )
}
