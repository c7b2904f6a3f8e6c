import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { readAll } from './readAll.ts'
import { session } from './session.ts'

/** The names of the organization and of the projects that the credential can read. Empty until they are known. */
export type Names = {
  readonly organization: string
  readonly projects: readonly { readonly projectId: string; readonly name: string }[]
}

const unknown: Names = { organization: '', projects: [] }
const found = signal(unknown)
/** The names of the present organization. The page shows ids while a name is unknown. */
export const names: ReadonlySignal<Names> = found

/** Reads the names once for each organization that is opened. Call it once. */
export const startNames = (): void => {
  effect(() => {
    const current = session.value
    found.value = unknown
    if (current === undefined || current.organizationId === '') return
    let isCurrent = true
    const add = (more: Partial<Names>): void => {
      if (isCurrent) found.value = { ...found.peek(), ...more }
    }
    // The page works without a name, and says itself what fails.
    const ignore = (): void => undefined
    current.client.getOrganization().then(({ name }) => add({ organization: name }), ignore)
    readAll(current.client.pages('listProjects')).then(({ items }) => add({ projects: items }), ignore)
    return () => {
      isCurrent = false
    }
  })
}
