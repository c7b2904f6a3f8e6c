import type { World, WorldDeployment } from '#client/operations.ts'
import { type Field, runFields } from './fields.ts'
import { showText, writeValue } from './forms.ts'
import type { Version } from './version.ts'

/** A setting of the present run. Without `text` the API does not say the value. `isPending` if another one acts at the next start. */
export type RunSetting = { readonly text?: string; readonly isPending: boolean }

/** Reports whether a world has a run whose settings can differ from its own. */
export const hasRun = ({ status }: Pick<World, 'status'>): boolean => ['Starting', 'Active'].includes(status.phase)

/** The end of `status.message` that names the settings that the present run has in another form. */
const pendingPattern = /(?:^| )Changes of ([\w, ]+) take effect at the next start\.$/

const pendingWords = ({ status }: World): readonly string[] =>
  pendingPattern.exec(status.message)?.[1]?.split(', ') ?? []

/**
 * Returns the settings of the present run by id, or undefined without a run. `newest` is the record that was read last, which may
 * be that of an earlier run. What the API does not name as changed is as the world has it.
 */
export const runSettingsOf = (
  { world, texts }: Version,
  newest: WorldDeployment | undefined,
): Readonly<Record<string, RunSetting>> | undefined => {
  if (!hasRun(world)) return undefined
  const deployment = newest?.runId === world.status.runId ? newest : undefined
  const words = pendingWords(world)
  const recorded = recordOf(deployment)
  const known = { ...buildOf(world, deployment), ...recorded }
  const settingOf = ({ id, kind, pendingWord = '' }: Field): RunSetting => {
    const set = showText(kind, texts[id] ?? '')
    const text = known[id]
    const isPending = (words.includes(pendingWord) || recorded[id] !== undefined) && text !== set
    return { isPending, ...(text !== undefined ? { text } : isPending ? {} : { text: set }) }
  }
  return Object.fromEntries(runFields.map((field) => [field.id, settingOf(field)]))
}

const recordOf = (deployment: WorldDeployment | undefined): Readonly<Record<string, string>> => {
  if (deployment === undefined) return {}
  const { mapName, query } = deployment.runtime
  return {
    'runtime.mapName': mapName,
    ...(query !== undefined && { 'runtime.query': showText('query', writeValue('query', query)) }),
    'networking.scaling.profile': deployment.networking.scaling.profile,
    'compute.group': deployment.compute.group,
    'compute.region': deployment.compute.region,
  }
}

const buildOf = (
  { status: { resolvedBuild }, runtime: { build } }: World,
  deployment: WorldDeployment | undefined,
): Readonly<Record<string, string>> => {
  if (resolvedBuild === undefined) return {}
  const content = deployment?.runtime.build.content?.id
  const isByContent = build !== undefined && 'content' in build && build.content.id === content
  const { channelId, tag } = resolvedBuild
  return { 'runtime.build': isByContent ? `Content ${content}` : `${channelId}:${tag}` }
}
