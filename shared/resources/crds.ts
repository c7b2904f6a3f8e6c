import { z } from 'zod'
import { botDeploymentSpecSchema, botDeploymentStatusSchema } from './botDeployment.ts'
import { apiGroup, apiVersion, botDeploymentResource, worldResource } from './group.ts'
import { worldSpecSchema, worldStatusSchema } from './world.ts'

type Json = { [key: string]: unknown }
type Column = { name: string; type: 'string' | 'integer' | 'date'; jsonPath: string; description: string; wide?: true }

type Definition = {
  resource: { plural: string; kind: string }
  singular: string
  shortName: string
  description: string
  spec: z.ZodType
  status: z.ZodType
  columns: Column[]
  subresources?: Json
}

const age: Column = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since the resource was made.',
}

const label = (key: string): string => `.metadata.labels.${`${apiGroup}/${key}`.replaceAll('.', '\\.')}`

const definitions: Definition[] = [
  {
    resource: worldResource,
    singular: 'world',
    shortName: 'wld',
    description: 'A virtual world: at most one server pod at any time, started and stopped by spec.state.',
    spec: worldSpecSchema,
    status: worldStatusSchema,
    columns: [
      { name: 'Display', type: 'string', jsonPath: '.spec.displayName', description: 'The name that people see.' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Where the world is in its life.' },
      { name: 'Profile', type: 'string', jsonPath: '.spec.scaling.profile', description: 'The size of the server.' },
      { name: 'Capacity', type: 'integer', jsonPath: '.status.run.capacity', description: 'How many may be inside.' },
      { name: 'Run', type: 'string', jsonPath: '.status.runId', description: 'The run that the phase is about.' },
      age,
      {
        name: 'Organization',
        type: 'string',
        jsonPath: label('organization'),
        description: 'The organization that owns the world.',
        wide: true,
      },
      {
        name: 'Project',
        type: 'string',
        jsonPath: label('project'),
        description: 'The project of the world.',
        wide: true,
      },
      {
        name: 'Node',
        type: 'string',
        jsonPath: '.status.nodeName',
        description: 'The node of the server.',
        wide: true,
      },
      {
        name: 'Address',
        type: 'string',
        jsonPath: '.status.address.host',
        description: 'Where the game port is.',
        wide: true,
      },
      {
        name: 'Port',
        type: 'integer',
        jsonPath: '.status.address.port',
        description: 'The game port there.',
        wide: true,
      },
      {
        name: 'Deployment',
        type: 'string',
        jsonPath: '.status.deployment.status',
        description: 'Where the run is in its life.',
        wide: true,
      },
      { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'What is awaited.', wide: true },
    ],
  },
  {
    resource: botDeploymentResource,
    singular: 'botdeployment',
    shortName: 'bots',
    description: 'A number of bots that belong to the run of one World and stop and restart with it.',
    spec: botDeploymentSpecSchema,
    status: botDeploymentStatusSchema,
    columns: [
      { name: 'World', type: 'string', jsonPath: '.spec.worldName', description: 'The world that the bots enter.' },
      { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'Where the deployment is in its life.' },
      { name: 'Count', type: 'integer', jsonPath: '.spec.count', description: 'How many bots are wanted.' },
      { name: 'Ready', type: 'integer', jsonPath: '.status.ready', description: 'How many bots are Ready.' },
      age,
      {
        name: 'Bots',
        type: 'integer',
        jsonPath: '.status.replicas',
        description: 'How many bots exist, those that stop included.',
        wide: true,
      },
      {
        name: 'Run',
        type: 'string',
        jsonPath: '.status.run.id',
        description: "The world's run that the bots belong to.",
        wide: true,
      },
      { name: 'Message', type: 'string', jsonPath: '.status.message', description: 'What is awaited.', wide: true },
    ],
    subresources: {
      scale: {
        specReplicasPath: '.spec.count',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.status.selector',
      },
    },
  },
]

/** The CustomResourceDefinitions of the product, by file name. The zod schemas are the only source of their fields. */
export const customResourceDefinitions = (): Record<string, Json> =>
  Object.fromEntries(
    definitions.map((definition) => [`${apiGroup}_${definition.resource.plural}.yaml`, render(definition)]),
  )

const render = (definition: Definition): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${definition.resource.plural}.${apiGroup}` },
  spec: {
    group: apiGroup,
    scope: 'Namespaced',
    names: {
      kind: definition.resource.kind,
      listKind: `${definition.resource.kind}List`,
      plural: definition.resource.plural,
      singular: definition.singular,
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
                message: 'metadata.name has at most 63 characters, since pods and labels bear it',
              },
            ],
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: structural(definition.spec),
              status: structural(definition.status),
            },
          },
        },
      },
    ],
  },
})

const structural = (schema: z.ZodType): Json =>
  tidy(z.toJSONSchema(schema, { target: 'openapi-3.0', io: 'input' })) as Json

/** What zod prints beyond a structural schema: the pattern of date-time, which the API server checks by the format. */
const tidy = (node: unknown): unknown => {
  if (Array.isArray(node)) return node.map(tidy)
  if (typeof node !== 'object' || node === null) return node
  const entries = Object.entries(node).filter(
    ([key]) => key !== 'propertyNames' && !(key === 'pattern' && 'format' in node && node.format === 'date-time'),
  )
  return Object.fromEntries(entries.map(([key, value]) => [key, tidy(value)]))
}
