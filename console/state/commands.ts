/** An action on a world as commands, for bash or zsh. None contains a key: `$KEY` and `$API` are variables of the shell. */
export type Commands = { readonly curl: string; readonly kubectl: string; readonly TypeScript: string }

type Target = { readonly organizationId: string; readonly projectId: string; readonly worldId: string }

/** The actions that are shown as commands. */
export const commandKinds = ['start', 'wake', 'stop', 'restart', 'edit', 'delete'] as const
export type CommandKind = (typeof commandKinds)[number]

/** An edit of a field, such as `networking.scaling.profile`. The user chooses the value if it is absent. */
export type Edit = { readonly field: string; readonly value?: string | undefined }

/** Returns the value of an edit that a remedy names, or undefined if it leaves the choice. */
export const valueIn = (remedy: string, field: string): string | undefined =>
  field === 'networking.scaling.profile' ? /\bCapacity\d+\b/.exec(remedy)?.[0] : undefined

/** Returns the commands that do the action. */
export const commandsFor = (kind: CommandKind, target: Target, edit: Edit = { field: '' }): Commands => ({
  curl: curlFor(kind, target, edit),
  kubectl: kubectlFor(kind, target),
  TypeScript: typeScriptFor(kind, target, edit),
})

const curlFor = (kind: CommandKind, { organizationId, projectId, worldId }: Target, edit: Edit): string => {
  const headers = [
    '-H "x-api-key: $KEY"',
    `-H "x-svc-organization-id: ${organizationId}"`,
    `-H "x-svc-project-id: ${projectId}"`,
  ]
  const path = `$API/api/worlds/${worldId}/`
  const json = ['-H "content-type: application/json"', `-d '${bodyFor(edit)}'`]
  const requests: Readonly<Record<CommandKind, readonly string[]>> = {
    start: ['curl -X POST', ...headers, `"${path}start/"`],
    wake: ['curl -X POST', ...headers, `"${path}wake/"`],
    restart: ['curl -X POST', ...headers, `"${path}start/"`],
    stop: ['curl -X POST', ...headers, `"${path}stop/"`],
    edit: ['curl -X PATCH', ...headers, ...json, `"${path}"`],
    delete: ['curl -X DELETE', ...headers, `"${path}"`],
  }
  return requests[kind].join(' \\\n  ')
}

/**
 * The label finds the resource whatever its name and the prefix of the namespaces. A start replaces the run, whatever its state: in
 * the resource only a change of the state starts a run. The API takes the grant away when it has read Stopped, and Running follows. A
 * wake is a start too: the state of a world that sleeps is Running.
 */
const kubectlFor = (kind: CommandKind, { worldId }: Target): string => {
  const columns = 'custom-columns=:metadata.namespace,:metadata.name'
  const found = `kubectl get worlds -A -l orrery.dev/world-id=${worldId} --no-headers -o ${columns}`
  const find = `read -r NAMESPACE NAME <<< "$(${found})"\n`
  const world = '-n "$NAMESPACE" "world/$NAME"'
  if (kind === 'edit' || kind === 'delete') return `${find}kubectl ${kind} ${world}`
  const patch = (state: string): string => `kubectl patch ${world} --type=merge -p '{"spec":{"state":"${state}"}}'`
  const stop = `${find}${patch('Stopped')}`
  const wait = `until [ -z "$(kubectl get ${world} -o jsonpath='{.spec.granted}')" ]; do sleep 1; done`
  return kind === 'stop' ? stop : `${stop} &&\n${wait} &&\n${patch('Running')}`
}

/** The method of the client. A start and a restart are the same operation. */
const methods: Readonly<Record<CommandKind, string>> = {
  start: 'startWorld',
  wake: 'wakeWorld',
  stop: 'stopWorld',
  restart: 'startWorld',
  edit: 'patchWorld',
  delete: 'deleteWorld',
}

const typeScriptFor = (kind: CommandKind, { organizationId, projectId, worldId }: Target, edit: Edit): string => {
  const scope = `organizationId: '${organizationId}', projectId: '${projectId}'`
  const input =
    kind === 'edit' ? `params: { worldId: '${worldId}' }, body: ${bodyFor(edit)}` : `params: { worldId: '${worldId}' }`
  return `const client = createClient({ baseUrl, apiKey, ${scope} })\nawait client.${methods[kind]}({ ${input} })`
}

const fieldPattern = /^\w+(\.\w+)*$/

const bodyFor = ({ field, value = '…' }: Edit): string =>
  fieldPattern.test(field)
    ? JSON.stringify(field.split('.').reduceRight<unknown>((inner, name) => ({ [name]: inner }), value))
    : '{ … }'
