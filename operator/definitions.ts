import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { isRetryable } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'
import { type DefinitionProblem, readDefinitionProblems } from '#shared/resources/definitionVersions.ts'

const retryMs = 2_000

/**
 * Logs each CustomResourceDefinition that is missing or does not fit the version of this process, with the remedy. If one is
 * more than one minor version apart, throws an Error that lists all of them, so that this process writes nothing. Retries
 * while the API server does not answer, until the signal aborts.
 */
export const checkDefinitions = async (
  definitions: Client<KubeObject>,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<void> => {
  const problems = await readWhenAvailable(definitions, { clock, log, signal })
  if (problems.some(({ isUnsupported }) => isUnsupported)) {
    throw new Error(problems.map(({ message }) => message).join('\n'))
  }
  for (const { definition, message } of problems) log.error({ definition }, message)
}

const readWhenAvailable = async (
  definitions: Client<KubeObject>,
  { clock, log, signal }: { clock: Clock; log: Log; signal: AbortSignal },
): Promise<DefinitionProblem[]> => {
  while (!signal.aborted) {
    try {
      return await readDefinitionProblems(definitions)
    } catch (error) {
      if (!isRetryable(error)) {
        const remedy = 'Install the roles of this version, with which this process may read its definitions.'
        log.warn({ err: error, remedy }, 'cannot check the versions of the definitions')
        return []
      }
      // The caches log that the API server does not answer.
      await sleep(clock, retryMs, signal)
    }
  }
  return []
}
