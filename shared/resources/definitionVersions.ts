import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import { productVersion } from '#shared/version.ts'
import { definitionName, kindList, versionAnnotation } from './group.ts'

/** A CustomResourceDefinition that is missing or does not fit the version of a process. */
export type DefinitionProblem = {
  readonly definition: string
  /** The cause and the remedy. */
  readonly message: string
  /** The definition is known to be more than one minor version apart, which docs/versions.md does not support. */
  readonly isUnsupported: boolean
}

/** Returns the definitions that are missing or do not fit the version of this process. Rejects if one cannot be read. */
export const readDefinitionProblems = async (definitions: Client<KubeObject>): Promise<DefinitionProblem[]> => {
  const problems = await Promise.all(kindList.map((kind) => readProblem(definitions, definitionName(kind))))
  return problems.filter((problem) => problem !== undefined)
}

const readProblem = async (
  definitions: Client<KubeObject>,
  definition: string,
): Promise<DefinitionProblem | undefined> => {
  try {
    const { metadata } = await definitions.get({ name: definition })
    return definitionProblem(definition, metadata.annotations?.[versionAnnotation], productVersion)
  } catch (error) {
    if (!isNotFound(error)) throw error
    const message = `The CustomResourceDefinition ${definition} is missing. Apply the folder crds of version ${productVersion}.`
    return { definition, message, isUnsupported: false }
  }
}

/**
 * Returns the problem of a definition that does not fit a version of the product: it is older, so that the cluster refuses
 * new fields, or newer by more than one minor version (docs/versions.md).
 */
export const definitionProblem = (
  definition: string,
  version: string | undefined,
  wanted: string,
): DefinitionProblem | undefined => {
  const lead = minorVersionOf(version) - minorVersionOf(wanted)
  if (lead === 0 || lead === 1) return undefined
  const of = `The CustomResourceDefinition ${definition} is of version ${version ?? 'unknown'}, and this process of ${wanted}.`
  const message =
    lead > 1
      ? `${of} Upgrade this process: it works with definitions that are newer by one minor version at most.`
      : `${of} The cluster refuses writes with fields that it does not know. Apply the folder crds of version ${wanted}.`
  return { definition, message, isUnsupported: version !== undefined && Math.abs(lead) > 1 }
}

/** Returns a number that grows with the minor version. Majors are far apart; an unknown version is the oldest. */
const minorVersionOf = (version = '0.-1'): number => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major * 1_000 + minor
}
