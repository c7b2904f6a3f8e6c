import { computed, type ReadonlySignal, signal } from '@preact/signals'
import { names } from './names.ts'

/** The version of what no feed shows. The page reads it again by itself. */
export const unversioned: ReadonlySignal<string> = signal('')

const projectNames = computed(() => new Map(names.value.projects.map(({ projectId, name }) => [projectId, name])))

/** Returns the name of a project, or '' while it is not known. */
export const projectName = (projectId: string): string => projectNames.value.get(projectId) ?? ''
