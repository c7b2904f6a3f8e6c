import type { SyncStatusCounts, SyncStatusFinding } from '#client/operations.ts'

/** A command that resolves something, with what it does. It is for bash or zsh, and contains no credential. */
export type Remedy = { readonly title: string; readonly text: string }

/** Makes `orrery` a command of the shell that runs it in the container of the API. */
export const alias =
  "alias orrery='kubectl -n orrery exec deploy/orrery-api -- /opt/orrery/bin/node /opt/orrery/orrery.mjs'"

/** Returns a text as one word of the shell. */
const toWord = (text: string): string =>
  /^[\w./-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** Returns the command that accepts a cluster if it is refused, or else its held sweeps. */
export const acceptCommand = (cluster: string): string => `orrery sync accept --cluster ${toWord(cluster)}`

/** Returns the commands that compare a cluster with the database, and that push again what differs. */
export const doctorCommands = (cluster: string): readonly Remedy[] => [
  { title: 'Compare', text: `orrery doctor --cluster ${toWord(cluster)}` },
  { title: 'Compare, and push again what differs', text: `orrery doctor --fix --cluster ${toWord(cluster)}` },
]

const remedies = [
  { title: 'Continue with the settings of the resource', name: 'release' },
  { title: 'Continue with the settings of the row', name: 'release --keep-row' },
  { title: 'Give it a row again, and its organization if that has none', name: 'adopt' },
  { title: 'Delete it with its servers', name: 'remove' },
]

/** Returns the commands that resolve a finding: those that its message names, with their alternatives. */
export const commandsFor = ({
  type,
  kind,
  cluster,
  namespace,
  name,
  message,
}: Pick<SyncStatusFinding, 'type' | 'kind' | 'cluster' | 'namespace' | 'name' | 'message'>): readonly Remedy[] => {
  const resource = toWord(`${namespace}/${name}`)
  const named = remedies
    .filter((each) => message.includes(`"orrery sync ${each.name.split(' ')[0]}"`))
    .map((each) => ({
      title: each.title,
      text: `orrery sync ${each.name} --cluster ${toWord(cluster)} ${resource}`,
    }))
  // The API ignores a stranger, and may not delete what could belong to the organization of another API.
  const isDeletedByHand = type === 'Stranger' || message.includes('kubectl')
  const object = toWord(`${kind.toLowerCase()}/${name}`)
  const byHand = {
    title: `Delete it, with the kubeconfig of the cluster ${cluster}`,
    text: `kubectl -n ${toWord(namespace)} delete ${object}`,
  }
  return isDeletedByHand ? [...named, byHand] : named
}

/** Returns the commands that resolve all findings of a type, for types with several. */
export const commandsForAll = ({
  frozen,
  orphans,
}: Pick<SyncStatusCounts, 'frozen' | 'orphans'>): readonly Remedy[] => [
  ...(frozen > 1
    ? [{ title: 'Continue all frozen rows with the settings of their resources', text: 'orrery sync release --all' }]
    : []),
  ...(orphans > 1 ? [{ title: 'Give all orphans a row again', text: 'orrery sync adopt --all' }] : []),
]
