import { type Clock, sleep } from '#shared/clock.ts'
import type { Client } from '#shared/kube/client.ts'
import { isNotFound } from '#shared/kube/errors.ts'
import type { KubeObject } from '#shared/kube/objects.ts'
import type { Log } from '#shared/log.ts'

/** The admission policy, and the binding of the same name, with which only the API writes `spec.granted`. */
const name = 'orrery-run-fields'
const checkEveryMs = 3_600_000

type Binding = KubeObject & { spec?: { policyName?: string; validationActions?: string[] } }
type Getter<T> = Pick<Client<T & KubeObject>, 'get'>
type Deps = {
  readonly policies: Getter<KubeObject>
  readonly bindings: Getter<Binding>
  readonly clock: Clock
  readonly log: Pick<Log, 'info' | 'warn'>
  readonly signal: AbortSignal
}

/**
 * Logs whether an admission policy protects `spec.granted`: at the start, and when it changes, which is checked each hour. Without
 * the policy, everyone who may write a World can grant runs. Ends when the signal aborts, and never rejects.
 */
export const watchAdmission = async (deps: Deps): Promise<void> => {
  const { clock, log, signal } = deps
  let logged = 'protected'
  while (!signal.aborted) {
    const { state, error } = await readState(deps)
    if (signal.aborted) return
    if (state !== logged) {
      if (state === 'protected') log.info({ policy: name }, 'spec.granted is protected')
      if (state === 'open') log.warn({ policy: name }, 'spec.granted is not protected: install the admission policies')
      if (state === 'unknown') log.warn({ policy: name, err: error }, 'cannot check whether spec.granted is protected')
    }
    logged = state
    await sleep(clock, checkEveryMs, signal)
  }
}

type State = { readonly state: 'protected' | 'open' | 'unknown'; readonly error?: unknown }

const readState = async ({ policies, bindings, signal }: Deps): Promise<State> => {
  try {
    const [, { spec }] = await Promise.all([policies.get({ name }, { signal }), bindings.get({ name }, { signal })])
    const denies = spec?.policyName === name && (spec.validationActions ?? []).includes('Deny')
    return { state: denies ? 'protected' : 'open' }
  } catch (error) {
    return isNotFound(error) ? { state: 'open' } : { state: 'unknown', error }
  }
}
