import { effect, type ReadonlySignal, signal } from '@preact/signals'
import { type Session, session } from './session.ts'

/** The names of the organization and of the projects that the credential can read. Empty until they are known. */
export type Names = {
  readonly organization: string
  readonly projects: readonly { readonly projectId: string; readonly name: string }[]
}

const unknown: Names = { organization: '', projects: [] }
const found = signal(unknown)
/** The names of the present organization. The page shows ids while a name is unknown. */
export const names: ReadonlySignal<Names> = found

const maxPages = 10

const readProjects = async ({ client }: Session): Promise<Names['projects']> => {
  const projects: Names['projects'][number][] = []
  let pages = 0
  for await (const page of client.pages('listProjects')) {
    projects.push(...page)
    pages += 1
    if (pages === maxPages) break
  }
  return projects
}

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
    readProjects(current).then((projects) => add({ projects }), ignore)
    return () => {
      isCurrent = false
    }
  })
}
